/* SPDX-License-Identifier: MIT
 *
 * psnr A B WIDTH HEIGHT FORMAT: compares two files of raw 8-bit planar frames
 * (FORMAT 420, 422, 444 or 400). Prints the number of frames, the PSNR over all
 * samples, that of the worst plane of a frame, and the largest difference. Status
 * 1 if the files differ in length or do not hold whole frames.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

struct difference {
    double squares;
    double samples;
    int largest;
};

static double psnr(const struct difference *d)
{
    if (d->squares == 0)
        return 99.0;
    return 10.0 * log10(255.0 * 255.0 * d->samples / d->squares);
}

static struct difference compare(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    struct difference d = {.samples = (double)bytes};

    for (size_t i = 0; i < bytes; i++) {
        int delta = abs(a[i] - b[i]);

        d.squares += delta * delta;
        d.largest = delta > d.largest ? delta : d.largest;
    }
    return d;
}

static void add(struct difference *sum, const struct difference *d)
{
    sum->squares += d->squares;
    sum->samples += d->samples;
    sum->largest = d->largest > sum->largest ? d->largest : sum->largest;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

/* Fills sizes with the samples of each plane; returns the number of planes. */
static int plane_sizes(size_t width, size_t height, const char *format, size_t sizes[3])
{
    size_t half = (width + 1) / 2;

    sizes[0] = width * height;
    if (strcmp(format, "400") == 0)
        return 1;
    if (strcmp(format, "420") == 0)
        sizes[1] = half * ((height + 1) / 2);
    else
        sizes[1] = strcmp(format, "422") == 0 ? half * height : width * height;
    sizes[2] = sizes[1];
    return 3;
}

int main(int argc, char **argv)
{
    struct difference all = {0};
    size_t sizes[3], got = 0;
    double worst = 99.0;
    long frames = 0;
    int planes;

    static const char *const formats[] = {"420", "422", "444", "400"};
    const struct option_page page = {.summary = "Compares the pictures of two files.",
                                     .operand = "A B WIDTH HEIGHT FORMAT"};
    char **operands = options_parse(argc, argv, &page);
    size_t width = (size_t)operand_number("WIDTH", operands[2], 1, 65536);
    size_t height = (size_t)operand_number("HEIGHT", operands[3], 1, 65536);

    OPERAND_CHOICE("FORMAT", operands[4], formats);
    FILE *a = open_file(operands[0]);
    FILE *b = open_file(operands[1]);
    planes = plane_sizes(width, height, operands[4], sizes);
    unsigned char *samples = malloc(2 * sizes[0]);

    if (samples == NULL)
        return 1;
    for (;; frames++) {
        for (int i = 0; i < planes; i++) {
            got = fread(samples, 1, sizes[i], a);
            if (fread(samples + sizes[0], 1, sizes[i], b) != got ||
                (got != sizes[i] && got + (size_t)i > 0)) {
                fprintf(stderr, "psnr: the files differ in length in frame %ld\n", frames);
                return 1;
            }
            if (got == 0)
                break;
            struct difference d = compare(samples, samples + sizes[0], sizes[i]);

            add(&all, &d);
            worst = fmin(worst, psnr(&d));
        }
        if (got == 0)
            break;
    }
    printf("psnr: frames=%ld average=%.2f worst=%.2f largest=%d\n", frames, psnr(&all), worst,
           all.largest);
    free(samples);
    fclose(a);
    fclose(b);
    return 0;
}
