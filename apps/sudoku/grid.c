/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <string.h>

struct search {
    struct grid *grid, *solution;
    const uint8_t *order;
    unsigned most, found;
};

static unsigned box_of(unsigned cell)
{
    return cell / 27 * 3 + cell % SIDE / 3;
}

void grid_clear(struct grid *g)
{
    memset(g, 0, sizeof *g);
}

static void toggle(struct grid *g, unsigned cell, unsigned digit)
{
    uint16_t bit = (uint16_t)(1u << digit);

    g->row[cell / SIDE] ^= bit;
    g->column[cell % SIDE] ^= bit;
    g->box[box_of(cell)] ^= bit;
}

void grid_place(struct grid *g, unsigned cell, unsigned digit)
{
    g->digit[cell] = (uint8_t)digit;
    toggle(g, cell, digit);
}

void grid_erase(struct grid *g, unsigned cell)
{
    toggle(g, cell, g->digit[cell]);
    g->digit[cell] = 0;
}

unsigned grid_allowed(const struct grid *g, unsigned cell)
{
    return ~(unsigned)(g->row[cell / SIDE] | g->column[cell % SIDE] | g->box[box_of(cell)]) &
           0x3feu;
}

static unsigned count_of(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask);
}

/* The empty cell where the fewest digits are possible; CELLS if there is none. */
static unsigned tightest(const struct grid *g)
{
    unsigned best = CELLS, fewest = SIDE + 1;

    for (unsigned cell = 0; cell < CELLS && fewest > 1; cell++) {
        if (g->digit[cell] == 0) {
            unsigned n = count_of(grid_allowed(g, cell));

            if (n < fewest) {
                best = cell;
                fewest = n;
            }
        }
    }
    return best;
}

static void search(struct search *s)
{
    unsigned cell = tightest(s->grid), allowed;

    if (cell == CELLS) {
        s->found++;
        *s->solution = *s->grid;
        return;
    }
    allowed = grid_allowed(s->grid, cell);
    for (unsigned i = 0; i < SIDE && s->found < s->most; i++) {
        if (allowed >> s->order[i] & 1u) {
            grid_place(s->grid, cell, s->order[i]);
            search(s);
            grid_erase(s->grid, cell);
        }
    }
}

unsigned grid_solve(struct grid *g, unsigned most, const uint8_t *order, struct grid *solution)
{
    struct search s = {.grid = g, .solution = solution, .order = order, .most = most};

    search(&s);
    return s.found;
}
