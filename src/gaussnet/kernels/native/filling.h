/* The columns of a regression: sound rows, centred where there is a constant. */
#ifndef GAUSSNET_FILLING_H
#define GAUSSNET_FILLING_H

#include "regression.h"

/* Copy the sound rows of a few columns, and their numbers. */
INLINE void keep_sound(const unsigned char *sound, const double *const *from, const int count,
                       ptrdiff_t rows, double *const *to, double *numbers)
{
    const double *source[MOST_COPIED];
    double *kept[MOST_COPIED];
    UNROLL for (int c = 0; c < count; c++) {
        source[c] = from[c];
        kept[c] = to[c];
    }
    Lanes next = count_lanes();
    ptrdiff_t at = 0, r = 0;
    for (; r + LANES <= rows; r += LANES) {
        const unsigned marks = load_marks(sound + r);
        UNROLL for (int c = 0; c < count; c++)
            store_marked(kept[c] + at, load(source[c] + r), marks);
        at += store_marked(numbers + at, next, marks);
        next += broadcast((double)LANES);
    }
    for (; r < rows; r++) {
        UNROLL for (int c = 0; c < count; c++)
            kept[c][at] = source[c][r];
        numbers[at] = (double)r;
        at += sound[r];
    }
}

/* Copy the sound rows of any number of columns, and their numbers. */
static void keep_all_sound(const unsigned char *sound, const double *const *from,
                           ptrdiff_t count, ptrdiff_t rows, double *const *to, double *numbers)
{
#define KEEP(count) keep_sound(sound, from + c, count, rows, to + c, numbers)
    for (ptrdiff_t c = 0; c < count; c += MOST_COPIED)
        switch (smaller(count - c, MOST_COPIED)) {
        case 1: KEEP(1); break;
        case 2: KEEP(2); break;
        case 3: KEEP(3); break;
        default: KEEP(4); break;
        }
#undef KEEP
}

/* Point to the sound rows of the parents and of the child; they are copied if some are not. */
static void take_sound(Regression *own, const Matrix *x, const TrimTask *task)
{
    const ptrdiff_t size = own->factor.size, constant = own->constant, count = task->size + 1;
    double **to = own->rooms;
    for (ptrdiff_t s = 0; s < count; s++) {
        const int64_t column = s < task->size ? task->parents[s] : task->child;
        own->sources[s] = (const double *)(x->data + column * x->column_stride);
        to[s] = s < task->size ? own->filled + s * (own->rows + LANES) : own->child;
    }
    if (own->rows < x->rows) {
        keep_all_sound(task->sound, own->sources, count, x->rows, to, own->numbers);
        memcpy(own->sources, to, (size_t)count * sizeof *to);
    }
    for (ptrdiff_t s = 0; s < count; s++)
        own->columns[s < task->size ? constant + s : size + 1] =
            constant ? to[s] : own->sources[s];
    own->columns[size] = own->residuals;
    if (constant)
        own->columns[0] = own->kept[0];
    for (ptrdiff_t k = 0; constant && k < PIECE + LANES; k++)
        own->kept[0][k] = 1.0;
}

/* to = from - origin. */
static void shift(const double *from, ptrdiff_t rows, double origin, double *to)
{
    const Lanes less = broadcast(origin);
    ptrdiff_t r = 0;
    for (; r + 4 * LANES <= rows; r += 4 * LANES)
        UNROLL for (int u = 0; u < 4; u++)
            store(to + r + u * LANES, load(from + r + u * LANES) - less);
    for (; r < rows; r++)
        to[r] = from[r] - origin;
}

/* Centre parents and child. */
static void centre_piece(const Regression *own, ptrdiff_t first, ptrdiff_t rows,
                         const double *centres)
{
    const ptrdiff_t count = own->factor.size;
    for (ptrdiff_t s = 0; s < count; s++)
        shift(own->sources[s] + first, rows, s < count - 1 ? centres[s] : own->reference,
              own->rooms[s] + first);
}

/* Where the median absolute value of the child should be. */
static Bracket guess_typical(const Regression *own)
{
    double sample[MOST_SAMPLES + LANES];
    const double *child = own->sources[own->factor.size - own->constant];
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
                         ? column_sum(own->sources[s], own->rows) / (double)own->rows
                         : 0.0;
    const double *child = own->sources[task->size];
    own->reference = own->constant ? row_median(child, own->rows, own->search, &used) : 0.0;
    fill_pieces(own, centres);
    const double rounding = ROUNDING_LEVEL * (own->typical + fabs(own->reference));
    own->smallest = fmax(rounding, DBL_MIN);
}

#endif
