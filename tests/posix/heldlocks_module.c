/* SPDX-License-Identifier: MIT */
/* heldlocks_module.c - a library whose constructor calls the program that opens it. */
void heldlocks_constructor(void);

static __attribute__((constructor)) void opened(void)
{
    heldlocks_constructor();
}
