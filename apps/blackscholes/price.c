/* SPDX-License-Identifier: MIT
 *
 * The formula (see price.h): F. Black, M. Scholes, The Pricing of Options and Corporate
 * Liabilities, 1973. The normal distribution is the approximation 26.2.17 of Abramowitz and
 * Stegun, Handbook of Mathematical Functions, whose error is below 7.5e-8.
 */
#include "price.h"

#include <math.h>

#define ONE_BY_ROOT_OF_TWO_PI 0.39894228040143270286f

static float normal_tail(float x) /* x >= 0: the part of the distribution above x */
{
    static const float b[] = {0.319381530f, -0.356563782f, 1.781477937f, -1.821255978f,
                              1.330274429f};
    float t = 1.0f / (1.0f + 0.2316419f * x);
    float sum = b[4];

    for (int i = 3; i >= 0; i--)
        sum = b[i] + t * sum;
    return ONE_BY_ROOT_OF_TWO_PI * (float)exp((double)(-0.5f * x * x)) * t * sum;
}

static float normal_below(float x)
{
    return x < 0.0f ? normal_tail(-x) : 1.0f - normal_tail(x);
}

float option_price(const struct option *o)
{
    float spread = o->volatility * (float)sqrt((double)o->years);
    float drift = (o->rate + 0.5f * o->volatility * o->volatility) * o->years;
    float d1 = ((float)log((double)(o->spot / o->strike)) + drift) / spread;
    float d2 = d1 - spread;
    float strike_today = o->strike * (float)exp((double)(-o->rate * o->years));

    if (o->put)
        return strike_today * (1.0f - normal_below(d2)) - o->spot * (1.0f - normal_below(d1));
    return o->spot * normal_below(d1) - strike_today * normal_below(d2);
}
