/* SPDX-License-Identifier: MIT */
/*
 * posix_children.c - which of the programs that this one starts get the library, by the entry of
 * LD_PRELOAD that names it ("ours"). Other entries stay as they are.
 *
 * C1. By default all do: the environment is inherited, and nothing is changed but by C3.
 * C2. PIRN_CHILDREN=0: only this process. Ours is removed from the environment before main, in
 *     place, so that copies which the program makes do not have it, whatever system call or
 *     function starts the child. If this process itself becomes another program (exec), ours is put
 *     back, so that a script's interpreter that is found by env, and `exec program` at the end of a
 *     shell script, run on Pirn, too. That is not done where the new environment lacks
 *     PIRN_CHILDREN=0: the program has cleared it.
 * C3. Ours is left out for a file that this library cannot be loaded into, and whose dynamic linker
 *     would complain (32 bits) or give up (another C library: musl). Of a script, its interpreter
 *     counts. Static programs keep it for their own children; set-user-ID programs' dynamic linker
 *     drops it.
 *
 * C2 covers all ways to start a child; C3 the functions of posix_spawn.c, not raw system calls.
 * Nothing here uses the C library's allocator or locks: exec may be called by signal handlers and
 * after fork.
 */
#include "posix_children.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port.h"
#include "port_options.h"

extern char **environ;

static const char preload[] = "LD_PRELOAD=", own[] = "libpirn-pthread", only[] = "PIRN_CHILDREN=0";
#define PRELOAD_LENGTH (sizeof(preload) - 1)
#define SPLITS " :" /* the characters at which ld.so splits it */
#define SCRIPTS_MAX 5
#define HEAD_MAX 256 /* bytes of a script's first line that Linux reads */
#define PATH_LENGTH_MAX 4096

/* Ours, which C2 has removed; in the process whose id that is. 0: nothing was. */
static struct {
    pid_t process;
    char entry[PATH_LENGTH_MAX];
} removed; /* written before main */

/* The next entry at or behind *from, n bytes; false: there is none. */
static bool next_entry(const char **from, size_t *n)
{
    *from += strspn(*from, SPLITS);
    *n = strcspn(*from, SPLITS);
    return *n != 0;
}

static bool entry_is_ours(const char *entry, size_t n)
{
    const char *name = entry + n;
    while (name > entry && name[-1] != '/') {
        name--;
    }
    return (size_t)(entry + n - name) >= sizeof(own) - 1 &&
           strncmp(name, own, sizeof(own) - 1) == 0;
}

static const char *find_ours(const char *list, size_t *n)
{
    for (; next_entry(&list, n); list += *n) {
        if (entry_is_ours(list, *n)) {
            return list;
        }
    }
    return NULL;
}

static bool is_preload(const char *variable)
{
    return strncmp(variable, preload, PRELOAD_LENGTH) == 0;
}

/* Copy the list without ours; the two may be the same memory. Returns the end of the copy. */
static char *copy_without_ours(char *to, const char *list)
{
    bool first = true;
    size_t n;
    for (; next_entry(&list, &n); list += n) {
        if (!entry_is_ours(list, n)) {
            if (!first) {
                *to++ = ':';
            }
            memmove(to, list, n);
            to += n;
            first = false;
        }
    }
    *to = '\0';
    return to;
}

/* ---- C2 ---- */

/* Removes the variables that are empty now. */
static void environ_drop(const char *variable)
{
    char **to = environ;
    for (char **from = environ; *from != NULL; from++) {
        if (*from != variable) {
            *to++ = *from;
        }
    }
    *to = NULL;
}

void children_begin(void)
{
    const char *value = getauxval(AT_SECURE) == 0 ? port_option("children") : NULL;
    if (value == NULL || strcmp(value, "0") != 0) {
        return;
    }
    for (char **e = environ; *e != NULL; e++) {
        size_t n;
        const char *ours = is_preload(*e) ? find_ours(*e + PRELOAD_LENGTH, &n) : NULL;
        if (ours == NULL || n >= sizeof(removed.entry)) {
            continue;
        }
        memcpy(removed.entry, ours, n);
        removed.entry[n] = '\0';
        removed.process = getpid();
        if (copy_without_ours(*e + PRELOAD_LENGTH, *e + PRELOAD_LENGTH) == *e + PRELOAD_LENGTH) {
            environ_drop(*e);
            e--;
        }
    }
}

static bool is_to_be_put_back(char *const env[])
{
    if (removed.process == 0 || removed.process != getpid()) {
        return false;
    }
    for (char *const *e = env; *e != NULL; e++) {
        if (strcmp(*e, only) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- C3 ---- */

static int file_open(int at, const char *name)
{
    /* A descriptor of O_PATH cannot be read, only opened again. */
    char self[64] = "/proc/self/fd/";
    if (name[0] == '\0') {
        char digits[16], *d = digits + sizeof(digits) - 1;
        *d = '\0';
        unsigned n = (unsigned)at;
        do {
            *--d = (char)('0' + n % 10);
            n /= 10;
        } while (n != 0);
        strcat(self, d);
        at = AT_FDCWD;
        name = self;
    }
    return (int)syscall(SYS_openat, at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Opens what execvp would find in PATH. */
static int file_search(const char *name)
{
    const char *path = NULL;
    char full[PATH_LENGTH_MAX];
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        path = strncmp(*e, "PATH=", 5) == 0 ? *e + 5 : path;
    }
    path = path != NULL ? path : "/bin:/usr/bin";
    for (const char *from = path;; from++) {
        size_t n = strcspn(from, ":"), length = strlen(name);
        if (n + 1 + length < sizeof(full)) {
            memcpy(full, from, n);
            full[n] = '/';
            memcpy(full + n + (n != 0), name, length + 1);
            if (syscall(SYS_faccessat, AT_FDCWD, full, X_OK) == 0) {
                int fd = file_open(AT_FDCWD, full);
                if (fd >= 0) {
                    return fd;
                }
            }
        }
        from += n;
        if (*from == '\0') {
            return -1;
        }
    }
}

/* The interpreter's name in a script's first line, in place; NULL: there is none. */
static char *script_interpreter(char *head)
{
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    return name[0] != '\0' ? name : NULL;
}

/* Does this file's dynamic linker load the library? False only if it surely does not. */
static bool head_takes(int fd, const char *head, size_t length)
{
    Elf64_Ehdr elf;
    if (length < sizeof(elf) || memcmp(head, ELFMAG, SELFMAG) != 0) {
        return true;
    }
    if (head[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)) {
        return false;
    }
    memcpy(&elf, head, sizeof(elf));
    for (unsigned i = 0; elf.e_phentsize == sizeof(Elf64_Phdr) && i < elf.e_phnum; i++) {
        Elf64_Phdr p;
        char linker[HEAD_MAX] = "";
        if (syscall(SYS_pread64, fd, &p, sizeof(p), (long)(elf.e_phoff + i * sizeof(p))) !=
            (long)sizeof(p)) {
            return true;
        }
        if (p.p_type == PT_INTERP) {
            size_t n = p.p_filesz < sizeof(linker) - 1 ? p.p_filesz : sizeof(linker) - 1;
            return syscall(SYS_pread64, fd, linker, n, (long)p.p_offset) < 0 ||
                   (strstr(linker, "/ld-musl") == NULL && strstr(linker, "uClibc") == NULL);
        }
    }
    return true;
}

static bool fd_takes(int fd)
{
    bool takes = true;
    char head[HEAD_MAX + 1];
    for (unsigned scripts = 0; fd >= 0; scripts++) {
        struct stat found;
        long n = fstat(fd, &found) == 0 && S_ISREG(found.st_mode)
                     ? syscall(SYS_pread64, fd, head, HEAD_MAX, 0L)
                     : -1;
        head[n > 0 ? n : 0] = '\0';
        bool script = n > 2 && head[0] == '#' && head[1] == '!' && scripts < SCRIPTS_MAX;
        takes = script || n < 0 || head_takes(fd, head, (size_t)n);
        char *interpreter = script ? script_interpreter(head) : NULL;
        syscall(SYS_close, fd);
        fd = interpreter != NULL ? file_open(AT_FDCWD, interpreter) : -1;
    }
    return takes;
}

static bool file_takes(const struct children_file *file)
{
    bool searched = file->searched && strchr(file->name, '/') == NULL;
    int saved = errno;
    bool takes = fd_takes(searched ? file_search(file->name) : file_open(file->at, file->name));
    errno = saved;
    return takes;
}

/* ---- the environment of one call ---- */

/* The last LD_PRELOAD counts for none: the first one does. NULL: there is none. */
static const char *list_of(char *const env[])
{
    for (char *const *e = env; *e != NULL; e++) {
        if (is_preload(*e)) {
            return *e + PRELOAD_LENGTH;
        }
    }
    return NULL;
}

static char *const *env_make(struct children_env *e, char *const env[], const char *list, bool back)
{
    size_t n = 0, ours = back ? strlen(removed.entry) + 1 : 0;
    while (env[n] != NULL) {
        n++;
    }
    size_t table = (n + 2) * sizeof(char *);
    e->size = table + PRELOAD_LENGTH + ours + (list != NULL ? strlen(list) : 0) + 1;
    e->memory = port_table_alloc(e->size);
    if (e->memory == NULL) {
        return env;
    }
    char **made = e->memory, **to = made;
    char *text = (char *)e->memory + table, *at = text + PRELOAD_LENGTH;
    memcpy(text, preload, PRELOAD_LENGTH);
    if (back) {
        memcpy(at, removed.entry, ours - 1);
        at += ours - 1;
        *at++ = ':';
    }
    char *end = copy_without_ours(at, list != NULL ? list : "");
    if (back && end == at) {
        *--end = '\0'; /* no others: no colon */
    }
    if (end != text + PRELOAD_LENGTH) {
        *to++ = text;
    }
    for (char *const *from = env; *from != NULL; from++) {
        if (!is_preload(*from)) {
            *to++ = *from;
        }
    }
    *to = NULL;
    return made;
}

char *const *children_env_begin(struct children_env *e, const struct children_file *file,
                                char *const env[], bool executes)
{
    size_t n;
    e->memory = NULL;
    if (env == NULL) {
        return env;
    }
    const char *list = list_of(env);
    bool there = list != NULL && find_ours(list, &n) != NULL;
    bool back = executes && !there && is_to_be_put_back(env);
    if ((!there && !back) || file_takes(file) == there) {
        return env;
    }
    return env_make(e, env, list, back);
}

void children_env_end(struct children_env *e)
{
    if (e->memory != NULL) {
        int saved = errno;
        port_table_free(e->memory, e->size);
        errno = saved;
    }
}
