/* Cells in doubt near the likeliest pattern of a row: all combinations of those that hang together,
 * and the chances, errors and variances that follow (see numpy_mixture.py). */
#ifndef GAUSSNET_COMBINATIONS_H
#define GAUSSNET_COMBINATIONS_H

#include "robust/patterns.h"

/* So many, if all groups have the largest size. */
#define MOST_COMBINATIONS (MOST_DOUBTED / MOST_JOINT << MOST_JOINT)

/* One combination of a group of cells in doubt: which are wrong, their errors and variances. */
typedef struct {
    ptrdiff_t count, members[MOST_JOINT];
    double score, errors[MOST_JOINT], variance[MOST_JOINT * MOST_JOINT];
} Combination;

/* The combinations of the cells in doubt, group by group, given those that are firmly wrong. */
typedef struct {
    ptrdiff_t count, groups;
    ptrdiff_t starts[MOST_DOUBTED + 1]; /* where the combinations of each group start */
    double carried[MOST_WRONG * MOST_DOUBTED]; /* V_B Omega_BD: what an error in doubt takes off */
    double precision[MOST_DOUBTED * MOST_DOUBTED], gradient[MOST_DOUBTED];
    double mean[MOST_DOUBTED], covariance[MOST_DOUBTED * MOST_DOUBTED], chance[MOST_DOUBTED];
    double log_sum;
    Combination each[MOST_COMBINATIONS];
} Combinations;

/* Take the doubted cells out of the pattern, and say how they hang on those that stay. */
static void condition(const Mixture *mixture, RowSearch *search, Combinations *all, double *lower)
{
    Pattern *now = search->now;
    double raw[MOST_WRONG], white[MOST_DOUBTED][MOST_WRONG];
    ptrdiff_t kept = 0;
    all->count = search->doubted_count;
    for (ptrdiff_t k = 0; k < now->count; k++) {
        int is_doubted = 0;
        for (ptrdiff_t d = 0; d < all->count; d++)
            is_doubted |= search->doubted[d] == now->cells[k];
        if (!is_doubted)
            now->cells[kept++] = now->cells[k];
    }
    if (kept < now->count) {
        now->count = kept;
        solve_pattern(mixture, search, now, NULL, lower);
    }
    for (ptrdiff_t d = 0; d < all->count; d++) {
        const ptrdiff_t cell = search->doubted[d];
        all->gradient[d] = search->gradient[cell];
        memset(white[d], 0, (size_t)kept * sizeof(double));
        for (ptrdiff_t k = 0; k < kept; k++) {
            raw[k] = coupling(mixture, cell, now->cells[k]);
            for (ptrdiff_t i = k; raw[k] != 0.0 && i < now->ends[k]; i++)
                white[d][i] += now->inverse[k * MOST_WRONG + i] * raw[k];
        }
        for (ptrdiff_t k = 0; k < kept; k++) {
            double sum = 0.0;
            all->gradient[d] -= white[d][k] * now->white[k];
            for (ptrdiff_t i = k; i < now->ends[k]; i++)
                sum += now->inverse[k * MOST_WRONG + i] * white[d][i];
            all->carried[k * MOST_DOUBTED + d] = sum;
        }
        for (ptrdiff_t other = 0; other <= d; other++) {
            double sum = coupling(mixture, cell, search->doubted[other]);
            for (ptrdiff_t k = 0; k < kept; k++)
                sum -= white[d][k] * white[other][k];
            all->precision[d * MOST_DOUBTED + other] = all->precision[other * MOST_DOUBTED + d] = sum;
        }
    }
}

/* The precision of a group's cells with their gradients as a last column, swept on some cells:
 * among these it is minus the variance of their errors, and in the last column the errors. */
#define SWEPT (MOST_JOINT + 1)
typedef struct {
    double entries[MOST_JOINT * SWEPT], score; /* score: halves of the squares and log pivots */
    ptrdiff_t first, size; /* of the group */
    ptrdiff_t count, members[MOST_JOINT];
} Swept;

/* Sweep on one more cell; 0 if its precision has vanished. */
static int sweep(const Mixture *mixture, const RowSearch *search, const Swept *from, ptrdiff_t cell,
                 Swept *to)
{
    const double *pivot_row = from->entries + cell * SWEPT, pivot = pivot_row[cell];
    const double inverse = 1.0 / pivot;
    if (!(pivot > 1e-14 * mixture->diagonal[search->doubted[from->first + cell]]))
        return 0;
    for (ptrdiff_t i = 0; i < from->size; i++) {
        const double factor = from->entries[i * SWEPT + cell] * inverse;
        for (ptrdiff_t j = 0; j < SWEPT; j++)
            to->entries[i * SWEPT + j] = from->entries[i * SWEPT + j] - factor * pivot_row[j];
        to->entries[i * SWEPT + cell] = factor;
    }
    for (ptrdiff_t j = 0; j < SWEPT; j++)
        to->entries[cell * SWEPT + j] = pivot_row[j] * inverse;
    to->entries[cell * SWEPT + cell] = -inverse;
    to->score = from->score + 0.5 * pivot_row[MOST_JOINT] * pivot_row[MOST_JOINT] * inverse +
                0.5 * log(inverse);
    to->first = from->first;
    to->size = from->size;
    to->count = from->count + 1;
    memcpy(to->members, from->members, sizeof to->members);
    to->members[from->count] = cell;
    return 1;
}

/* Write down the combination of the cells that were swept on. */
static void note_combination(const Mixture *mixture, const RowSearch *search, const Swept *swept,
                             Combination *one)
{
    one->count = swept->count;
    one->score = swept->score;
    for (ptrdiff_t i = 0; i < swept->count; i++) {
        const double *own = swept->entries + swept->members[i] * SWEPT;
        one->members[i] = swept->first + swept->members[i];
        one->errors[i] = own[MOST_JOINT];
        for (ptrdiff_t j = 0; j < swept->count; j++)
            one->variance[i * MOST_JOINT + j] = -own[swept->members[j]];
        one->score += log_wrong(mixture, search, search->doubted[one->members[i]], one->errors[i],
                                one->variance[i * MOST_JOINT + i]);
    }
}

/* All combinations of a group that hold the cells swept on and some of the later ones; how many. */
static ptrdiff_t combine_from(const Mixture *mixture, const RowSearch *search, const Swept *from,
                              ptrdiff_t cell, Combination *to)
{
    Swept next;
    ptrdiff_t found = 1;
    note_combination(mixture, search, from, to);
    for (; cell < from->size; cell++)
        if (sweep(mixture, search, from, cell, &next))
            found += combine_from(mixture, search, &next, cell + 1, to + found);
    return found;
}

/* Chances of a group's combinations in place of their scores; the log of the sum of these. */
static double weigh_combinations(Combination *each, ptrdiff_t count)
{
    double most = UNLIKELY, total = 0.0, counted = 0.0;
    for (ptrdiff_t s = 0; s < count; s++)
        most = fmax(most, each[s].score);
    for (ptrdiff_t s = 0; s < count; s++) {
        const double weight = exp(each[s].score - most);
        total += weight;
        counted += each[s].score = weight > 1e-6 ? weight : 0.0;
    }
    for (ptrdiff_t s = 0; s < count; s++)
        each[s].score /= counted;
    return most + log(total);
}

/* Mean and covariance of the errors of a group. */
static void average_combinations(Combinations *all, ptrdiff_t group, ptrdiff_t first, ptrdiff_t last)
{
    const Combination *each = all->each + all->starts[group], *stop = all->each + all->starts[group + 1];
    for (const Combination *one = each; one < stop; one++)
        for (ptrdiff_t i = 0; one->score > 0.0 && i < one->count; i++) {
            all->mean[one->members[i]] += one->score * one->errors[i];
            all->chance[one->members[i]] += one->score;
        }
    for (const Combination *one = each; one < stop; one++) { /* about the mean: errors may be huge */
        double centred[MOST_DOUBTED];
        if (one->score == 0.0)
            continue;
        for (ptrdiff_t a = first; a < last; a++)
            centred[a] = -all->mean[a];
        for (ptrdiff_t i = 0; i < one->count; i++)
            centred[one->members[i]] += one->errors[i];
        for (ptrdiff_t a = first; a < last; a++)
            for (ptrdiff_t b = first; b < last; b++)
                all->covariance[a * MOST_DOUBTED + b] += one->score * centred[a] * centred[b];
        for (ptrdiff_t i = 0; i < one->count; i++)
            for (ptrdiff_t j = 0; j < one->count; j++)
                all->covariance[one->members[i] * MOST_DOUBTED + one->members[j]] +=
                    one->score * one->variance[i * MOST_JOINT + j];
    }
}

/* Weigh all combinations of the cells in doubt, group by group. */
static void combine(const Mixture *mixture, const RowSearch *search, Combinations *all)
{
    all->groups = search->group_count;
    all->log_sum = 0.0;
    all->starts[0] = 0;
    memset(all->mean, 0, sizeof all->mean);
    memset(all->chance, 0, sizeof all->chance);
    for (ptrdiff_t d = 0; d < all->count; d++)
        memset(all->covariance + d * MOST_DOUBTED, 0, (size_t)all->count * sizeof(double));
    for (ptrdiff_t g = 0; g < all->groups; g++) {
        const ptrdiff_t first = search->groups[g], last = search->groups[g + 1];
        Combination *each = all->each + all->starts[g];
        Swept none = {.score = 0.0, .first = first, .size = last - first};
        for (ptrdiff_t i = first; i < last; i++) {
            double *own = none.entries + (i - first) * SWEPT;
            memcpy(own, all->precision + i * MOST_DOUBTED + first, (size_t)(last - first) * sizeof *own);
            own[MOST_JOINT] = all->gradient[i];
        }
        const ptrdiff_t found = combine_from(mixture, search, &none, 0, each);
        all->starts[g + 1] = all->starts[g] + found;
        all->log_sum += weigh_combinations(each, found);
        average_combinations(all, g, first, last);
    }
}

#endif
