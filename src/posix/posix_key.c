/* SPDX-License-Identifier: MIT */
/*
 * posix_key.c - thread-specific data.
 *
 * keys[k].seq is odd while key k exists and grows by one at every create and delete. A value is
 * stored with the seq of its key and counts only while both agree. So all values of a deleted key
 * vanish at once, and a new key with the same number does not show them.
 *
 * Creating a key claims it by compare-and-swap. The program orders everything else (using a key
 * while another thread creates or deletes it is undefined), so relaxed accesses suffice.
 */
#include <errno.h>

#include "posix.h"
#include "posix_platform.h"

typedef void (*destructor_fn)(void *);

static struct {
    _Atomic(uint32_t) seq;
    _Atomic(destructor_fn) destructor;
} keys[PTHREAD_KEYS_MAX];

ALWAYS_INLINE bool seq_exists(uint32_t seq)
{
    return seq & 1u;
}

int pirn_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    pthread_key_t tool = posix_sanitizer_key(destructor);
    if (tool != POSIX_TOOL_KEY_NONE) {
        *key = tool;
        return 0;
    }
    for (unsigned k = 0; k < PTHREAD_KEYS_MAX; k++) {
        uint32_t seq = at_load_rlx(&keys[k].seq);
        if (!seq_exists(seq) && at_cas_rlx(&keys[k].seq, &seq, seq + 1)) {
            at_store_rlx(&keys[k].destructor, destructor);
            *key = k;
            return 0;
        }
    }
    return EAGAIN;
}

int pirn_pthread_key_delete(pthread_key_t key)
{
    if (key < PTHREAD_KEYS_MAX) {
        uint32_t seq = at_load_rlx(&keys[key].seq);
        if (seq_exists(seq) && at_cas_rlx(&keys[key].seq, &seq, seq + 1)) {
            return 0;
        }
    }
    return EINVAL;
}

void *pirn_pthread_getspecific(pthread_key_t key)
{
    if (unlikely(key >= PTHREAD_KEYS_MAX)) {
        return posix_sanitizer_getspecific(key);
    }
    struct posix_local *local = rt_identity()->local;
    if (local == NULL || key >= local->nslots) {
        return NULL;
    }
    struct posix_slot *slot = &local->slots[key];
    return slot->value != NULL && slot->seq == at_load_rlx(&keys[key].seq) ? slot->value : NULL;
}

static int slots_grow(struct posix_local *local)
{
    struct posix_slot *table = port_table_alloc(PTHREAD_KEYS_MAX * sizeof(*table));
    if (table == NULL) {
        return ENOMEM;
    }
    posix_sanitizer_root(table, PTHREAD_KEYS_MAX * sizeof(*table), true);
    for (unsigned k = 0; k < local->nslots; k++) {
        table[k] = local->slots[k];
    }
    local->slots = table;
    local->nslots = PTHREAD_KEYS_MAX;
    return 0;
}

int pirn_pthread_setspecific(pthread_key_t key, const void *value)
{
    if (unlikely(key >= PTHREAD_KEYS_MAX)) {
        return posix_sanitizer_setspecific(key, value);
    }
    if (!seq_exists(at_load_rlx(&keys[key].seq))) {
        return EINVAL;
    }
    if (value == NULL && pirn_pthread_getspecific(key) == NULL) {
        return 0;
    }
    struct posix_local *local = posix_local();
    if (local == NULL || (key >= local->nslots && slots_grow(local) != 0)) {
        return ENOMEM;
    }
    local->slots[key] = (struct posix_slot){at_load_rlx(&keys[key].seq), (void *)value};
    return 0;
}

/* One round; true if it called a destructor. */
static bool keys_round(struct posix_local *local)
{
    bool called = false;
    for (unsigned k = 0; k < local->nslots; k++) {
        struct posix_slot slot = local->slots[k];
        if (slot.value == NULL) {
            continue;
        }
        local->slots[k].value = NULL;
        destructor_fn destructor = at_load_rlx(&keys[k].destructor);
        if (slot.seq == at_load_rlx(&keys[k].seq) && destructor != NULL) {
            destructor(slot.value);
            called = true;
        }
    }
    return called;
}

void posix_keys_end(struct posix_local *local)
{
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && keys_round(local); round++) {
    }
}
