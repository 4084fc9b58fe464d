/* SPDX-License-Identifier: MIT */
/* tls_module.c - a shared object with a thread variable, loaded by tls.c. */
int *tls_counter(void);

static __thread int counter = 1000;

int *tls_counter(void)
{
    return &counter;
}
