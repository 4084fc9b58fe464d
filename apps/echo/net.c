/* SPDX-License-Identifier: MIT
 *
 * See net.h.
 */
#include "net.h"

#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

void net_need_descriptors(long count)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)count;
    rlim_t hard;

    net_check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    if (limit.rlim_cur >= wanted)
        return;
    hard = limit.rlim_max;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted)
        limit.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        app_die("%ld descriptors are needed, and the limit is %llu (ulimit -Hn): raise it, or "
                "use fewer connections",
                count, (unsigned long long)hard);
}

struct sockaddr_in net_loopback(unsigned x, long port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xffffff00u) | x);
    return address;
}

long net_check(long result, const char *what)
{
    if (result < 0)
        app_die("%s: %s", what, strerror(errno));
    return result;
}

void net_no_delay(int fd)
{
    int on = 1;

    net_check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt TCP_NODELAY");
}
