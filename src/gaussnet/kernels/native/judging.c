/* Rows with suspicious parents: what one equation says of the child's cells in them. */
#include "kernels.h"

#define FINE 0
#define UNVERIFIED 1
#define FLAGGED 2
#define MISSING 3
/* Up to this leverage an equation tells sharply what the child of recorded parents should be. */
#define REACH 1.0

/* Sums over the parents of one row; v is the variance of what they leave open, over the noise. */
typedef struct {
    double recorded, cleaned, vagueness, leverage;
    ptrdiff_t suspects;
} RowSums;

/* Go on to row r; at[s] are the cells of parent s not yet passed, `point` room for its columns. */
static RowSums sum_row(const Matrix *x, const JudgeTask *task, int64_t r, ptrdiff_t *at,
                       double *point)
{
    RowSums sums = {0.0, 0.0, 0.0, 0.0, 0};
    const ptrdiff_t constant = task->width - task->size;
    if (constant)
        point[0] = 1.0, sums.recorded = sums.cleaned = task->coefficients[0];
    for (ptrdiff_t s = 0; s < task->size; s++) {
        const double *column = (const double *)(x->data + task->parents[s] * x->column_stride);
        const double slope = task->coefficients[constant + s], value = column[r] - task->centres[s];
        while (at[s] < task->offsets[s + 1] && task->cell_rows[at[s]] < r)
            at[s]++;
        const int known = at[s] < task->offsets[s + 1] && task->cell_rows[at[s]] == r;
        const double variance = known ? task->cell_variances[at[s]] : 0.0;
        point[constant + s] = value;
        sums.recorded += slope * value;
        sums.cleaned += slope * (known ? task->cell_expected[at[s]] - task->centres[s] : value);
        sums.vagueness += slope / task->scale * (slope / task->scale) * variance;
        sums.suspects += variance > 0.0;
    }
    for (ptrdiff_t i = 0; i < task->rank; i++) {
        double white = 0.0;
        for (ptrdiff_t j = 0; j < task->width; j++)
            white += task->whitener[i * task->width + j] * point[j];
        sums.leverage += white * white;
    }
    return sums;
}

/* The smaller of two, the first if it is NaN. */
static double capped(double value, double cap) { return value > cap ? cap : value; }

/* Judge the child of one row from its sums; gives the status of its cell. */
static unsigned char judge_row(const JudgeTask *task, const RowSums *sums, double child,
                               double *expected, double *variance, double *evidence,
                               double *recorded)
{
    const double scale = task->scale;
    const double raw = (child - sums->recorded) / scale, clean = (child - sums->cleaned) / scale;
    const double squared = clean * clean / (1.0 + sums->vagueness);
    const double nearest = fmin(task->limit, task->cleaned_cutoff);
    unsigned char status = sums->vagueness > task->largest_vagueness ? UNVERIFIED : FINE;
    *recorded = raw * raw / (1.0 + sums->leverage);
    *expected = sums->cleaned;
    *variance = scale * scale * (1.0 + sums->vagueness);
    *evidence = capped(*recorded, task->cap) + log1p(sums->leverage) -
                capped(squared, task->cap) - log1p(sums->vagueness);
    if (!(*recorded < task->cap))
        *evidence = *evidence > 0.0 ? *evidence : 0.0;
    if (squared > nearest * nearest)
        status = FLAGGED;
    if (*recorded <= task->cleaned_cutoff * task->cleaned_cutoff && sums->leverage <= REACH &&
        *evidence < 0.0)
        status = FINE;
    return isnan(child) ? MISSING : status;
}

static int judge_rows(const Matrix *x, const JudgeTask *task, double *verdicts,
                      unsigned char *statuses, double *testimony)
{
    const ptrdiff_t count = task->row_count;
    ptrdiff_t *at = malloc((size_t)(task->size + 1) * sizeof *at);
    double *point = malloc((size_t)(task->width + 1) * sizeof *point);
    const double *child = (const double *)(x->data + task->child * x->column_stride);
    memset(testimony, 0, (size_t)task->offsets[task->size] * sizeof *testimony);
    for (ptrdiff_t s = 0; at && s < task->size; s++)
        at[s] = (ptrdiff_t)task->offsets[s];
    for (ptrdiff_t u = 0; at && point && u < count; u++) {
        const int64_t r = task->rows[u];
        const RowSums sums = sum_row(x, task, r, at, point);
        double *evidence = verdicts + 2 * count + u;
        statuses[u] = judge_row(task, &sums, child[r] - task->reference, verdicts + u,
                                verdicts + count + u, evidence, verdicts + 3 * count + u);
        for (ptrdiff_t s = 0; s < task->size; s++)
            if (at[s] < task->offsets[s + 1] && task->cell_rows[at[s]] == r &&
                task->cell_variances[at[s]] > 0.0 && (sums.suspects == 1 || *evidence < 0.0))
                testimony[at[s]] = *evidence;
    }
    const int failed = !at || !point;
    free(at);
    free(point);
    return failed ? -1 : 0;
}
