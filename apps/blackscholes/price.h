/* SPDX-License-Identifier: MIT
 *
 * The price of a European option after Black and Scholes, of a share without dividends.
 */
#ifndef APPS_BLACKSCHOLES_PRICE_H
#define APPS_BLACKSCHOLES_PRICE_H

#include <stdbool.h>

struct option {
    float spot;       /* S: the price of the share today */
    float strike;     /* K: the price in the option */
    float rate;       /* r: risk-free interest, a year */
    float volatility; /* v: of the share, a year */
    float years;      /* T: until the option ends */
    bool put;         /* the right to sell, not to buy */
    float reference;  /* the price as the file has it */
};

/* In single precision; logarithm, root and exponential in double precision, rounded. */
float option_price(const struct option *option);

#endif
