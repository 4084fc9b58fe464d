/* SPDX-License-Identifier: MIT
 *
 * LIBU, the line builder: puts a finished picture's blocks together to lines.
 */
#ifndef APPS_MJPEG_LIBU_H
#define APPS_MJPEG_LIBU_H

#include "picture.h"

/* Bytes of the picture as planes, one after the other, without padding. */
size_t libu_frame_bytes(const struct jpeg *jpeg);

/* Writes the planes in the order of the components, lines from top to bottom. */
void libu_build(const struct picture *picture, uint8_t *frame);

#endif
