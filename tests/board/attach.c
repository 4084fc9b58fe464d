/* SPDX-License-Identifier: MIT */
/*
 * attach.c - the interrupts that a board's description lists (`pirn board info`): a program can
 * attach a handler to each, but not to the console's, nor to numbers that no controller has.
 *
 *     attach CONSOLE NUMBER...
 */
#include "check_board.h"
#include "common/options.h"

#include <errno.h>
#include <pirn/irq.h>

#define LAST 255

static void does_nothing(void *unused)
{
    (void)unused;
}

int main(int argc, char **argv)
{
    CHECK(argc > 2);
    long console = operand_number("CONSOLE", argv[1], 0, LAST);
    unsigned attached = 0;
    for (int i = 2; i < argc; i++) {
        unsigned number = (unsigned)operand_number("NUMBER", argv[i], 0, LAST);
        int expected = number == (unsigned)console ? -EINVAL : 0;
        int error = pirn_irq_attach(number, does_nothing, NULL);
        if (error != expected) {
            printf("interrupt %u: %d, not %d\n", number, error, expected);
            return 1;
        }
        CHECK(pirn_irq_attach(number, NULL, NULL) == expected);
        attached += error == 0;
    }
    CHECK(pirn_irq_attach(LAST + 1, does_nothing, NULL) == -EINVAL);
    printf("%u handlers\n", attached);
    return 0;
}
