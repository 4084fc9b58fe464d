/* SPDX-License-Identifier: MIT */
/* module.c - a library with thread-local variables that modules.c loads at run time; built with
 * each TLS model, and twice under different names. */
static __thread int value = MODULE_VALUE;
static __thread char room[MODULE_ROOM];

int *module_value(void)
{
    return &value;
}

char *module_room(unsigned *size)
{
    *size = sizeof(room);
    return room;
}
