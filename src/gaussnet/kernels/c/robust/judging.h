/* What one equation says of the cells of its child. */
#ifndef GAUSSNET_JUDGING_H
#define GAUSSNET_JUDGING_H

#include "core/lanes.h"

/* Natural logarithms of many values. */

/* The bits of 1 and of the root of 1/2; those below them hold the fraction. */
#define ONE_BITS 0x3ff0000000000000u
#define ROOT_HALF_BITS 0x3fe6a09e667f3bcdu
#define FRACTION_BITS 0x000fffffffffffffu
/* A double with these bits and an integer in its fraction is 2^52 and that integer. */
#define INTEGER_BITS 0x4330000000000000u
#define LOG_TWO 0.69314718055994530942

/* The logarithm of a positive normal number: with x = 2^k m, m between the roots of 1/2 and 2, and
 * s = (m - 1) / (m + 1), it is k log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...). No branches, so that the
 * compiler makes lanes of a loop over it. */
INLINE double log_of_normal(double x)
{
    uint64_t bits;
    double power, part;
    memcpy(&bits, &x, sizeof bits);
    bits += ONE_BITS - ROOT_HALF_BITS;
    const uint64_t exponent = (bits >> 52) | INTEGER_BITS;
    bits = (bits & FRACTION_BITS) + ROOT_HALF_BITS;
    memcpy(&power, &exponent, sizeof power);
    memcpy(&part, &bits, sizeof part);
    power -= 4503599627370496.0 + 1023.0;
    const double s = (part - 1.0) / (part + 1.0), z = s * s;
    double series = 1.0 / 21.0;
    series = series * z + 1.0 / 19.0;
    series = series * z + 1.0 / 17.0;
    series = series * z + 1.0 / 15.0;
    series = series * z + 1.0 / 13.0;
    series = series * z + 1.0 / 11.0;
    series = series * z + 1.0 / 9.0;
    series = series * z + 1.0 / 7.0;
    series = series * z + 1.0 / 5.0;
    series = series * z + 1.0 / 3.0;
    return power * LOG_TWO + 2.0 * (s + s * z * series);
}

/* Logarithms of `count` values, in place. */
static void take_logs(double *values, ptrdiff_t count)
{
    int normal = 1;
    for (ptrdiff_t k = 0; k < count; k++)
        normal &= (values[k] >= DBL_MIN) & (values[k] <= DBL_MAX);
    if (normal)
        for (ptrdiff_t k = 0; k < count; k++)
            values[k] = log_of_normal(values[k]);
    else
        for (ptrdiff_t k = 0; k < count; k++)
            values[k] = log(values[k]);
}

/* What one equation says of the cells of its child: of those that were rejected, and of those in
 * rows with suspicious parents. Some of these rows are judged at a time, column after column. */

/* A column, and the equation that judges it. */
typedef struct {
    int64_t child;
    const int64_t *parents;
    ptrdiff_t size;
    const int64_t *doubted; /* rows with a suspicious parent, ascending */
    const int64_t *positions;  /* where each row stands among them, or -1 */
    ptrdiff_t doubted_count;
    const int64_t *rejected; /* which other rows were rejected, ascending */
    const double *residuals; /* of those */
    ptrdiff_t rejected_count;
    /* Suspicious cells of parent s: firsts[s] .. lasts[s], by row. */
    const int64_t *firsts, *lasts, *cell_rows;
    const double *cell_expected, *cell_variances;
    /* Of the constant, if there is one, and of the parents; `rank` rows of the whitener. */
    const double *coefficients, *centres, *whitener;
    ptrdiff_t width, rank;
    double reference, scale, limit, cleaned_cutoff, largest_vagueness, cap;
} JudgeTask;

/* The suspicious cells of a column by row; rows left out; those of them that agree with the
 * parents as recorded; and the evidence of the doubted rows, together and as far as it counts as
 * log_ratios on the parents' cells. */
typedef struct {
    int64_t *rows, *left_out, *events;
    unsigned char *statuses;
    double *expected, *variances, *deviations, *row_evidence;
    ptrdiff_t cell_count, left_count, event_count;
    double evidence;
} Judged;

#define FINE 0
#define UNVERIFIED 1
#define FLAGGED 2
#define MISSING 3
/* Up to this leverage an equation tells sharply what the child of recorded parents should be. */
#define REACH 1.0
/* Rows that are judged at a time: their columns should stay in the nearest cache. */
#define AT_ONCE 256

/* Cells that were found: `rests` are recorded less expected values. */
typedef struct {
    int64_t *rows;
    double *expected, *rests, *variances;
    unsigned char *statuses;
} Noted;

/* Memory to judge a piece of the rows in, and what is found of them. */
typedef struct {
    ptrdiff_t *passed; /* the first cell of each parent that is not yet passed */
    ptrdiff_t *ends;   /* where each row of the whitener ends */
    double *columns;   /* the parents as recorded, about their centres */
    double *cleaned_column;
    double *vagueness; /* variance of what the cleaned parents leave open, over the noise */
    double *suspects;  /* how many parents are suspicious */
    double *leverages;
    double *child, *expected;   /* as recorded, and by the cleaned parents, about the reference */
    double *recorded, *cleaned; /* squared deviations from either sort of parents */
    double *evidence;
    Noted noted;
} JudgeWork;

/* space for `rows` rows and equations of up to `most` parents; what it points to is *memory. */
static int open_judging(JudgeWork *work, ptrdiff_t most, ptrdiff_t rows, void **memory)
{
    const ptrdiff_t positions = 2 * most + 1;
    double **parts[] = {&work->cleaned_column, &work->vagueness, &work->suspects,
                        &work->leverages,      &work->child,     &work->expected,
                        &work->recorded,       &work->cleaned,   &work->evidence};
    const ptrdiff_t count = sizeof parts / sizeof *parts, stride = rows + 1;
    *memory = malloc((size_t)(positions + 4 * stride) * sizeof(int64_t) +
                     (size_t)((most + count) * AT_ONCE) * sizeof(double) + (size_t)stride);
    if (!*memory)
        return -1;
    work->passed = (ptrdiff_t *)*memory;
    work->ends = work->passed + most;
    work->columns = (double *)(work->passed + positions);
    for (ptrdiff_t k = 0; k < count; k++)
        *parts[k] = work->columns + (most + k) * AT_ONCE;
    double *noted = work->columns + (most + count) * AT_ONCE;
    work->noted = (Noted){(int64_t *)(noted + 3 * stride), noted, noted + stride,
                          noted + 2 * stride, (unsigned char *)(noted + 4 * stride)};
    return 0;
}

static void start_judging(const JudgeTask *task, JudgeWork *work)
{
    for (ptrdiff_t s = 0; s < task->size; s++)
        work->passed[s] = (ptrdiff_t)task->firsts[s];
    for (ptrdiff_t i = 0; i < task->rank; i++) {
        ptrdiff_t end = task->width;
        while (end > 0 && task->whitener[i * task->width + end - 1] == 0.0)
            end--;
        work->ends[i] = end;
    }
}

/* Put the expected values of the suspicious cells of parent s into its column. */
static void clean_column(const JudgeTask *task, ptrdiff_t s, ptrdiff_t first, ptrdiff_t count,
                         JudgeWork *work)
{
    const double centre = task->centres[s];
    const double ratio = task->coefficients[task->width - task->size + s] / task->scale;
    const int64_t last = task->doubted[first + count - 1];
    ptrdiff_t cell = work->passed[s];
    for (; cell < task->lasts[s] && task->cell_rows[cell] <= last; cell++) {
        const ptrdiff_t i = task->positions[task->cell_rows[cell]] - first;
        if (i < 0)
            continue;
        const double variance = task->cell_variances[cell];
        work->cleaned_column[i] = task->cell_expected[cell] - centre;
        work->vagueness[i] += ratio * ratio * variance;
        work->suspects[i] += variance > 0.0 ? 1.0 : 0.0;
    }
    work->passed[s] = cell;
}

/* Read parent s in `count` doubted rows from number `first` on, and add it up: as recorded, and
 * with the expected values of its suspicious cells instead. */
static void sum_parent(const Matrix *x, const JudgeTask *task, ptrdiff_t s, ptrdiff_t first,
                       ptrdiff_t count, JudgeWork *work)
{
    const double *column = (const double *)(x->data + task->parents[s] * x->column_stride);
    const double slope = task->coefficients[task->width - task->size + s];
    const double centre = task->centres[s];
    const int64_t *rows = task->doubted + first;
    double *restrict value = work->columns + s * AT_ONCE, *restrict clean = work->cleaned_column;
    double *restrict recorded = work->recorded, *restrict expected = work->expected;
    for (ptrdiff_t i = 0; i < count; i++)
        value[i] = clean[i] = column[rows[i]] - centre;
    for (ptrdiff_t i = 0; i < count; i++)
        recorded[i] += slope * value[i];
    clean_column(task, s, first, count, work);
    for (ptrdiff_t i = 0; i < count; i++)
        expected[i] += slope * clean[i];
}

/* Leverages of a piece of the rows from the columns read. */
static void find_leverages(const JudgeTask *task, ptrdiff_t count, JudgeWork *work)
{
    const ptrdiff_t constant = task->width - task->size;
    for (ptrdiff_t r = 0; r < count; r += LANES) {
        Lanes squares = broadcast(0.0);
        for (ptrdiff_t i = 0; i < task->rank; i++) {
            const double *row = task->whitener + i * task->width;
            Lanes white = broadcast(constant ? row[0] : 0.0);
            for (ptrdiff_t j = constant; j < work->ends[i]; j++)
                white += broadcast(row[j]) * load(work->columns + (j - constant) * AT_ONCE + r);
            squares += white * white;
        }
        store(work->leverages + r, squares);
    }
}

/* Turn what was summed into squared deviations and evidence. */
static void weigh_rows(const JudgeTask *task, ptrdiff_t count, JudgeWork *work)
{
    const double inverse = 1.0 / task->scale, cap = task->cap;
    const double *restrict child = work->child, *restrict expected = work->expected;
    const double *restrict leverages = work->leverages, *restrict vagueness = work->vagueness;
    double *restrict recorded = work->recorded, *restrict cleaned = work->cleaned;
    double *restrict evidence = work->evidence;
    for (ptrdiff_t i = 0; i < count; i++)
        evidence[i] = (1.0 + leverages[i]) / (1.0 + vagueness[i]);
    take_logs(evidence, count);
    for (ptrdiff_t i = 0; i < count; i++) {
        const double raw = (child[i] - recorded[i]) * inverse;
        const double clean = (child[i] - expected[i]) * inverse;
        const double as_recorded = raw * raw / (1.0 + leverages[i]);
        const double as_cleaned = clean * clean / (1.0 + vagueness[i]);
        const double found = (as_recorded > cap ? cap : as_recorded) -
                             (as_cleaned > cap ? cap : as_cleaned) + evidence[i];
        const double doubt = found > 0.0 ? found : 0.0;
        evidence[i] = as_recorded < cap ? found : doubt;
        recorded[i] = as_recorded;
        cleaned[i] = as_cleaned;
    }
}

/* Sum up and weigh `count` doubted rows from number `first` on. */
static void judge_piece(const Matrix *x, const JudgeTask *task, ptrdiff_t first, ptrdiff_t count,
                        JudgeWork *work)
{
    const double *column = (const double *)(x->data + task->child * x->column_stride);
    const double constant = task->width > task->size ? task->coefficients[0] : 0.0;
    for (ptrdiff_t i = 0; i < count; i++) {
        work->child[i] = column[task->doubted[first + i]] - task->reference;
        work->recorded[i] = work->expected[i] = constant;
        work->vagueness[i] = work->suspects[i] = 0.0;
    }
    for (ptrdiff_t s = 0; s < task->size; s++)
        sum_parent(x, task, s, first, count, work);
    find_leverages(task, count, work);
    weigh_rows(task, count, work);
}

/* The status of row i of a piece; no branches, which could not be foretold. */
INLINE unsigned char status_of(const JudgeTask *task, const JudgeWork *work, ptrdiff_t i)
{
    const double nearest = fmin(task->limit, task->cleaned_cutoff);
    const double farthest = task->cleaned_cutoff * task->cleaned_cutoff;
    const int agrees = (work->recorded[i] <= farthest) & (work->leverages[i] <= REACH) &
                       (work->evidence[i] < 0.0);
    const int vague = work->vagueness[i] > task->largest_vagueness;
    const int status = work->cleaned[i] > nearest * nearest ? FLAGGED : vague ? UNVERIFIED : FINE;
    return (unsigned char)(isnan(work->child[i]) ? MISSING : agrees ? FINE : status);
}

/* Note what was found of row i of a piece, and as a cell unless it is fine. */
INLINE void note_row(const JudgeTask *task, JudgeWork *work, ptrdiff_t i, int64_t row,
                     double *row_evidence, Judged *judged)
{
    const Noted *noted = &work->noted;
    const unsigned char status = status_of(task, work, i);
    const double evidence = work->evidence[i];
    const ptrdiff_t cell = judged->cell_count;
    noted->rows[cell] = row;
    noted->statuses[cell] = status;
    noted->expected[cell] = work->expected[i] + task->reference;
    noted->rests[cell] = work->child[i] - work->expected[i];
    noted->variances[cell] = task->scale * task->scale * (1.0 + work->vagueness[i]);
    judged->cell_count += status != FINE;
    judged->evidence += evidence;
    *row_evidence = ((work->suspects[i] == 1.0) | (evidence < 0.0)) ? evidence : 0.0;
    judged->events[judged->event_count] = row;
    judged->event_count += work->recorded[i] <= task->limit * task->limit;
}

/* Note the rejected rows as cells, after the others. */
static void note_rejected(const Matrix *x, const JudgeTask *task, const Noted *noted,
                          ptrdiff_t first)
{
    const double *column = (const double *)(x->data + task->child * x->column_stride);
    for (ptrdiff_t k = 0; k < task->rejected_count; k++) {
        const int64_t row = task->rejected[k];
        noted->rows[first + k] = row;
        noted->statuses[first + k] = FLAGGED;
        noted->expected[first + k] = column[row] - task->residuals[k];
        noted->rests[first + k] = task->residuals[k];
        noted->variances[first + k] = task->scale * task->scale;
    }
}

/* Write down the cells by row: the first `count` that were noted and the rejected ones after them
 * ascend each. */
static void write_cells(const JudgeTask *task, const Noted *noted, Judged *judged)
{
    const ptrdiff_t count = judged->cell_count, all = count + task->rejected_count;
    ptrdiff_t own = 0, other = count;
    for (ptrdiff_t cell = 0; cell < all; cell++) {
        const int64_t left = own < count ? noted->rows[own] : INT64_MAX;
        const int64_t right = other < all ? noted->rows[other] : INT64_MAX;
        const int from_own = left < right;
        const ptrdiff_t at = from_own ? own : other;
        own += from_own;
        other += !from_own;
        judged->rows[cell] = noted->rows[at];
        judged->statuses[cell] = noted->statuses[at];
        judged->expected[cell] = noted->expected[at];
        judged->variances[cell] = noted->variances[at];
        judged->deviations[cell] = noted->rests[at];
    }
    for (ptrdiff_t cell = 0; cell < all; cell++)
        judged->deviations[cell] /= sqrt(judged->variances[cell]);
    judged->cell_count = all;
}

/* Write down the rows rejected and doubted, by row. */
static void write_left_out(const JudgeTask *task, Judged *judged)
{
    ptrdiff_t doubted = 0, rejected = 0;
    judged->left_count = task->doubted_count + task->rejected_count;
    for (ptrdiff_t k = 0; k < judged->left_count; k++) {
        const int64_t left = doubted < task->doubted_count ? task->doubted[doubted] : INT64_MAX;
        const int64_t right =
            rejected < task->rejected_count ? task->rejected[rejected] : INT64_MAX;
        judged->left_out[k] = left < right ? left : right;
        doubted += left < right;
        rejected += !(left < right);
    }
}

/* Go through the rows that are rejected or doubted. */
static void judge_all(const Matrix *x, const JudgeTask *task, JudgeWork *work, Judged *judged)
{
    judged->cell_count = judged->event_count = 0;
    judged->evidence = 0.0;
    start_judging(task, work);
    for (ptrdiff_t first = 0; first < task->doubted_count; first += AT_ONCE) {
        const ptrdiff_t count = smaller(AT_ONCE, task->doubted_count - first);
        judge_piece(x, task, first, count, work);
        for (ptrdiff_t i = 0; i < count; i++)
            note_row(task, work, i, task->doubted[first + i], judged->row_evidence + first + i, judged);
    }
    note_rejected(x, task, &work->noted, judged->cell_count);
    write_cells(task, &work->noted, judged);
    write_left_out(task, judged);
}

/* Add to the log_ratios on the suspicious cells of the parents what their rows have row_evidence. */
static void testify(const JudgeTask *task, const double *row_evidence, double *log_ratios)
{
    for (ptrdiff_t s = 0; s < task->size; s++)
        for (int64_t cell = task->firsts[s]; cell < task->lasts[s]; cell++) {
            const int64_t position = task->positions[task->cell_rows[cell]];
            if (position >= 0 && task->cell_variances[cell] > 0.0)
                log_ratios[cell] += row_evidence[position];
        }
}

/* List the rows that are not sound; gives how many these are. */
static ptrdiff_t list_doubted(const unsigned char *sound, ptrdiff_t rows, int64_t *doubted)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t first = 0; first < rows; first += 8) {
        uint64_t eight = 0;
        const ptrdiff_t some = smaller(8, rows - first);
        if (some == 8)
            memcpy(&eight, sound + first, sizeof eight);
        if (eight == 0x0101010101010101u)
            continue;
        for (ptrdiff_t r = first; r < first + some; r++) {
            doubted[count] = r;
            count += sound[r] == 0;
        }
    }
    return count;
}

/* Say for every row where it stands among the doubted ones, or -1. */
static void find_positions(const int64_t *doubted, ptrdiff_t count, ptrdiff_t rows, int64_t *positions)
{
    memset(positions, -1, (size_t)rows * sizeof *positions);
    for (ptrdiff_t k = 0; k < count; k++)
        positions[doubted[k]] = k;
}

#endif
