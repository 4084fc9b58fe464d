/* SPDX-License-Identifier: MIT
 *
 * grid.h - a Sudoku grid, and the search through its remaining possibilities.
 */
#ifndef APPS_SUDOKU_GRID_H
#define APPS_SUDOKU_GRID_H

#include <stdint.h>

enum { SIDE = 9, CELLS = SIDE * SIDE };

/* 0 is an empty cell; the masks have bit d set if digit d is used there. */
struct grid {
    uint8_t digit[CELLS];
    uint16_t row[SIDE], column[SIDE], box[SIDE];
};

void grid_clear(struct grid *g);

/* Put a digit (1 to 9) into an empty cell, or take it back. */
void grid_place(struct grid *g, unsigned cell, unsigned digit);
void grid_erase(struct grid *g, unsigned cell);

/* Digits that neither row, column nor box has yet, as a mask. */
unsigned grid_allowed(const struct grid *g, unsigned cell);

/* Counts solutions up to `most`; *solution is the last one found. The digits are tried in the order
 * of `order` (nine of them). */
unsigned grid_solve(struct grid *g, unsigned most, const uint8_t *order, struct grid *solution);

#endif
