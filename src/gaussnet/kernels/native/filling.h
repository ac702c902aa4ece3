/* The columns of a regression: sound rows, centred where there is a constant. */
#ifndef GAUSSNET_FILLING_H
#define GAUSSNET_FILLING_H

#include "regression.h"

/* Copy the sound rows of a column. */
static void keep_sound(const unsigned char *sound, const double *from, ptrdiff_t rows, double *to)
{
    ptrdiff_t kept = 0, r = 0;
    for (; r + LANES <= rows; r += LANES)
        kept += store_marked(to + kept, load(from + r), sound + r);
    for (; r < rows; r++) {
        to[kept] = from[r];
        kept += sound[r];
    }
}

/* Point to the sound rows of the parents and of the child; they are copied if some are not. */
static void take_sound(Regression *own, const Matrix *x, const TrimTask *task)
{
    const ptrdiff_t size = own->factor.size;
    for (ptrdiff_t s = 0; s <= task->size; s++) {
        const int is_child = s == task->size;
        const int64_t column = is_child ? task->child : task->parents[s];
        const ptrdiff_t place = is_child ? size + 1 : own->constant + s;
        const double *from = (const double *)(x->data + column * x->column_stride);
        double *to = is_child ? own->child : own->filled + place * (own->rows + LANES);
        if (own->rows < x->rows)
            keep_sound(task->sound, from, x->rows, to);
        own->sources[place] = own->rows < x->rows ? to : from;
        own->columns[place] = own->constant ? to : own->sources[place];
    }
    own->columns[size] = own->residuals;
    if (!own->constant)
        return;
    own->columns[0] = own->kept[0];
    for (ptrdiff_t k = 0; k < PIECE + LANES; k++)
        own->kept[0][k] = 1.0;
}

static void shift(const double *from, ptrdiff_t rows, double origin, double *to)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        to[r] = from[r] - origin;
}

/* Centre parents and child. */
static void centre_piece(const Regression *own, ptrdiff_t first, ptrdiff_t rows,
                         const double *centres)
{
    const ptrdiff_t size = own->factor.size, stride = own->rows + LANES;
    for (ptrdiff_t c = 1; c < size; c++)
        shift(own->sources[c] + first, rows, centres[c - 1], own->filled + c * stride + first);
    shift(own->sources[size + 1] + first, rows, own->reference, own->child + first);
}

/* Where the median absolute value of the child should be. */
static Bracket guess_typical(const Regression *own)
{
    double sample[MOST_SAMPLES + LANES];
    const double *child = own->sources[own->factor.size + 1];
    const ptrdiff_t size = sample_size(own->rows);
    for (ptrdiff_t k = 0; k < size; k++)
        sample[k] = fabs(child[sample_place(k, size, own->rows)] - own->reference);
    return bracket_of_sample(sample, size, 0.5, 0);
}

/* Centre the columns, sum their products and find the median absolute value of the child. */
static void fill_pieces(Regression *own, const double *centres)
{
    const ptrdiff_t size = own->factor.size;
    Middle middle = {own->rows, guess_typical(own), own->search};
    clear_products(&own->factor);
    for (ptrdiff_t first = 0; first < own->rows; first += PIECE) {
        const ptrdiff_t rows = smaller(PIECE, own->rows - first);
        if (own->constant)
            centre_piece(own, first, rows, centres);
        find_piece(own, first);
        own->pieces[size] = own->pieces[size + 1];
        add_rows(&own->factor, own->pieces, rows);
        meet_values(&middle, own->pieces[size], rows);
    }
    const size_t length = (size_t)triangle_length(size + 1);
    memcpy(own->whole_sums, own->factor.packed, length * sizeof(double));
    own->typical = absolute_median(&middle, own->columns[size + 1], own->spare);
}

/* Fill in child and columns: with an intercept a constant comes first, parents are centred at
 * their means and the child at its median. */
static void fill_regression(Regression *own, const Matrix *x, const TrimTask *task,
                            double *centres)
{
    int64_t used;
    own->constant = task->intercept ? 1 : 0;
    take_sound(own, x, task);
    for (ptrdiff_t s = 0; s < task->size; s++)
        centres[s] = own->constant
                         ? column_sum(own->sources[s + 1], own->rows) / (double)own->rows
                         : 0.0;
    const double *child = own->sources[own->factor.size + 1];
    own->reference = own->constant ? row_median(child, own->rows, own->search, &used) : 0.0;
    fill_pieces(own, centres);
    const double rounding = ROUNDING_LEVEL * (own->typical + fabs(own->reference));
    own->smallest = fmax(rounding, DBL_MIN);
}

#endif
