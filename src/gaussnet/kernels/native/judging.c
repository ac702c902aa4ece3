/* What one equation says of the cells of its child: of those that were rejected, and of those in
 * rows with suspicious parents. */
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

/* Room to sum rows in: the cells of each parent that are not yet passed, the columns of a row, the
 * squared slopes over the noise, and where each row of the whitener ends. */
typedef struct {
    ptrdiff_t *at, *ends;
    double *point, *weights;
} SumRoom;

static void start_sums(const JudgeTask *task, SumRoom *room)
{
    const double *slopes = task->coefficients + (task->width - task->size);
    for (ptrdiff_t s = 0; s < task->size; s++) {
        room->at[s] = (ptrdiff_t)task->offsets[s];
        room->weights[s] = slopes[s] / task->scale * (slopes[s] / task->scale);
    }
    for (ptrdiff_t i = 0; i < task->rank; i++) {
        ptrdiff_t end = task->width;
        while (end > 0 && task->whitener[i * task->width + end - 1] == 0.0)
            end--;
        room->ends[i] = end;
    }
}

/* Go on to row r. */
static RowSums sum_row(const Matrix *x, const JudgeTask *task, int64_t r, SumRoom *room)
{
    ptrdiff_t *at = room->at;
    double *point = room->point;
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
        sums.vagueness += room->weights[s] * variance;
        sums.suspects += variance > 0.0;
    }
    for (ptrdiff_t i = 0; i < task->rank; i++) {
        double white = 0.0;
        for (ptrdiff_t j = 0; j < room->ends[i]; j++)
            white += task->whitener[i * task->width + j] * point[j];
        sums.leverage += white * white;
    }
    return sums;
}

/* The smaller of two, the first if it is NaN. */
static double capped(double value, double cap) { return value > cap ? cap : value; }

/* What is said of a row with suspicious parents. */
typedef struct {
    unsigned char status;
    double variance, evidence, recorded;
} Opinion;

/* Judge the child of one row, about its reference, from the sums. */
static Opinion judge_row(const JudgeTask *task, const RowSums *sums, double child)
{
    const double scale = task->scale, nearest = fmin(task->limit, task->cleaned_cutoff);
    const double inverse = 1.0 / scale;
    const double raw = (child - sums->recorded) * inverse, clean = (child - sums->cleaned) * inverse;
    const double reach = 1.0 + sums->leverage, blur = 1.0 + sums->vagueness;
    const double recorded = raw * raw / reach, cleaned = clean * clean / blur;
    double evidence = capped(recorded, task->cap) - capped(cleaned, task->cap) + log(reach / blur);
    unsigned char status = sums->vagueness > task->largest_vagueness ? UNVERIFIED : FINE;
    if (!(recorded < task->cap))
        evidence = evidence > 0.0 ? evidence : 0.0;
    if (cleaned > nearest * nearest)
        status = FLAGGED;
    if (recorded <= task->cleaned_cutoff * task->cleaned_cutoff && sums->leverage <= REACH &&
        evidence < 0.0)
        status = FINE;
    status = isnan(child) ? MISSING : status;
    return (Opinion){status, scale * scale * blur, evidence, recorded};
}

/* Write down a suspicious cell, `rest` off the expected value, and count it. */
static void add_cell(const Judged *judged, ptrdiff_t *count, int64_t row, unsigned char status,
                     double expected, double rest, double variance)
{
    judged->rows[*count] = row;
    judged->statuses[*count] = status;
    judged->expected[*count] = expected;
    judged->variances[*count] = variance;
    judged->deviations[(*count)++] = rest / sqrt(variance);
}

/* Let a row speak of the suspicious cells of its parents, which at[s] point to. */
static void testify(const JudgeTask *task, const RowSums *sums, double evidence, int64_t r,
                    const ptrdiff_t *at, double *testimony)
{
    if (sums->suspects != 1 && !(evidence < 0.0))
        return;
    for (ptrdiff_t s = 0; s < task->size; s++)
        if (at[s] < task->offsets[s + 1] && task->cell_rows[at[s]] == r &&
            task->cell_variances[at[s]] > 0.0)
            testimony[at[s]] = evidence;
}

/* The first row from r on that has a suspicious parent. */
static int64_t next_doubted(const Matrix *x, const JudgeTask *task, int64_t r)
{
    if (r >= x->rows)
        return x->rows;
    const unsigned char *found = memchr(task->sound + r, 0, (size_t)(x->rows - r));
    return found ? found - task->sound : x->rows;
}

/* Go through the rows that are rejected or doubted. */
static void judge_all(const Matrix *x, const JudgeTask *task, const Judged *judged, SumRoom *room)
{
    const double *child = (const double *)(x->data + task->child * x->column_stride);
    const double squared = task->scale * task->scale, farthest = task->limit * task->limit;
    ptrdiff_t cells = 0, left = 0, events = 0, k = 0;
    double evidence = 0.0;
    int64_t doubted = next_doubted(x, task, 0);
    while (doubted < x->rows || k < task->rejected_count) {
        if (k < task->rejected_count && task->rejected[k] < doubted) {
            const int64_t r = task->rejected[k];
            const double rest = task->residuals[k++];
            add_cell(judged, &cells, r, FLAGGED, child[r] - rest, rest, squared);
            judged->left_out[left++] = r;
            continue;
        }
        const double own = child[doubted] - task->reference;
        const RowSums sums = sum_row(x, task, doubted, room);
        const Opinion opinion = judge_row(task, &sums, own);
        evidence += opinion.evidence;
        testify(task, &sums, opinion.evidence, doubted, room->at, judged->testimony);
        if (opinion.status != FINE)
            add_cell(judged, &cells, doubted, opinion.status, sums.cleaned + task->reference,
                     own - sums.cleaned, opinion.variance);
        if (opinion.recorded <= farthest)
            judged->events[events++] = doubted;
        judged->left_out[left++] = doubted;
        doubted = next_doubted(x, task, doubted + 1);
    }
    judged->totals[0] = evidence;
    judged->totals[1] = (double)cells;
    judged->totals[2] = (double)events;
}

static int judge_rows(const Matrix *x, const JudgeTask *task, const Judged *judged)
{
    const size_t places = (size_t)(task->size + task->rank), numbers = (size_t)(2 * task->width);
    ptrdiff_t *memory = malloc((places + 1) * sizeof(ptrdiff_t) + numbers * sizeof(double));
    if (!memory)
        return -1;
    double *point = (double *)(memory + places + 1);
    SumRoom room = {memory, memory + task->size, point, point + task->width};
    memset(judged->testimony, 0, (size_t)task->offsets[task->size] * sizeof(double));
    start_sums(task, &room);
    judge_all(x, task, judged, &room);
    free(memory);
    return 0;
}
