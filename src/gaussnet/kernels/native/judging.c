/* What one equation says of the cells of its child: of those that were rejected, and of those in
 * rows with suspicious parents. Some of these rows are judged at a time, column after column. */
#include "lanes.h"
#include "logarithms.h"

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

/* Room to judge a piece of the rows in, and what is found of them. */
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
} JudgeRoom;

/* Room for `rows` rows and equations of up to `most` parents; what it points to is *memory. */
static int open_judging(JudgeRoom *room, ptrdiff_t most, ptrdiff_t rows, void **memory)
{
    const ptrdiff_t places = 2 * most + 1;
    double **parts[] = {&room->cleaned_column, &room->vagueness, &room->suspects,
                        &room->leverages,      &room->child,     &room->expected,
                        &room->recorded,       &room->cleaned,   &room->evidence};
    const ptrdiff_t count = sizeof parts / sizeof *parts, stride = rows + 1;
    *memory = malloc((size_t)(places + 4 * stride) * sizeof(int64_t) +
                     (size_t)((most + count) * AT_ONCE) * sizeof(double) + (size_t)stride);
    if (!*memory)
        return -1;
    room->passed = (ptrdiff_t *)*memory;
    room->ends = room->passed + most;
    room->columns = (double *)(room->passed + places);
    for (ptrdiff_t k = 0; k < count; k++)
        *parts[k] = room->columns + (most + k) * AT_ONCE;
    double *noted = room->columns + (most + count) * AT_ONCE;
    room->noted = (Noted){(int64_t *)(noted + 3 * stride), noted, noted + stride,
                          noted + 2 * stride, (unsigned char *)(noted + 4 * stride)};
    return 0;
}

static void start_judging(const JudgeTask *task, JudgeRoom *room)
{
    for (ptrdiff_t s = 0; s < task->size; s++)
        room->passed[s] = (ptrdiff_t)task->firsts[s];
    for (ptrdiff_t i = 0; i < task->rank; i++) {
        ptrdiff_t end = task->width;
        while (end > 0 && task->whitener[i * task->width + end - 1] == 0.0)
            end--;
        room->ends[i] = end;
    }
}

/* Put the expected values of the suspicious cells of parent s into its column. */
static void clean_column(const JudgeTask *task, ptrdiff_t s, ptrdiff_t first, ptrdiff_t count,
                         JudgeRoom *room)
{
    const double centre = task->centres[s];
    const double ratio = task->coefficients[task->width - task->size + s] / task->scale;
    const int64_t last = task->doubted[first + count - 1];
    ptrdiff_t cell = room->passed[s];
    for (; cell < task->lasts[s] && task->cell_rows[cell] <= last; cell++) {
        const ptrdiff_t i = task->places[task->cell_rows[cell]] - first;
        if (i < 0)
            continue;
        const double variance = task->cell_variances[cell];
        room->cleaned_column[i] = task->cell_expected[cell] - centre;
        room->vagueness[i] += ratio * ratio * variance;
        room->suspects[i] += variance > 0.0 ? 1.0 : 0.0;
    }
    room->passed[s] = cell;
}

/* Read parent s in `count` doubted rows from number `first` on, and add it up: as recorded, and
 * with the expected values of its suspicious cells instead. */
static void sum_parent(const Matrix *x, const JudgeTask *task, ptrdiff_t s, ptrdiff_t first,
                       ptrdiff_t count, JudgeRoom *room)
{
    const double *column = (const double *)(x->data + task->parents[s] * x->column_stride);
    const double slope = task->coefficients[task->width - task->size + s];
    const double centre = task->centres[s];
    const int64_t *rows = task->doubted + first;
    double *restrict value = room->columns + s * AT_ONCE, *restrict clean = room->cleaned_column;
    double *restrict recorded = room->recorded, *restrict expected = room->expected;
    for (ptrdiff_t i = 0; i < count; i++)
        value[i] = clean[i] = column[rows[i]] - centre;
    for (ptrdiff_t i = 0; i < count; i++)
        recorded[i] += slope * value[i];
    clean_column(task, s, first, count, room);
    for (ptrdiff_t i = 0; i < count; i++)
        expected[i] += slope * clean[i];
}

/* Leverages of a piece of the rows from the columns read. */
static void find_leverages(const JudgeTask *task, ptrdiff_t count, JudgeRoom *room)
{
    const ptrdiff_t constant = task->width - task->size;
    for (ptrdiff_t r = 0; r < count; r += LANES) {
        Lanes squares = broadcast(0.0);
        for (ptrdiff_t i = 0; i < task->rank; i++) {
            const double *row = task->whitener + i * task->width;
            Lanes white = broadcast(constant ? row[0] : 0.0);
            for (ptrdiff_t j = constant; j < room->ends[i]; j++)
                white += broadcast(row[j]) * load(room->columns + (j - constant) * AT_ONCE + r);
            squares += white * white;
        }
        store(room->leverages + r, squares);
    }
}

/* Turn what was summed into squared deviations and evidence. */
static void weigh_rows(const JudgeTask *task, ptrdiff_t count, JudgeRoom *room)
{
    const double inverse = 1.0 / task->scale, cap = task->cap;
    const double *restrict child = room->child, *restrict expected = room->expected;
    const double *restrict leverages = room->leverages, *restrict vagueness = room->vagueness;
    double *restrict recorded = room->recorded, *restrict cleaned = room->cleaned;
    double *restrict evidence = room->evidence;
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
                        JudgeRoom *room)
{
    const double *column = (const double *)(x->data + task->child * x->column_stride);
    const double constant = task->width > task->size ? task->coefficients[0] : 0.0;
    for (ptrdiff_t i = 0; i < count; i++) {
        room->child[i] = column[task->doubted[first + i]] - task->reference;
        room->recorded[i] = room->expected[i] = constant;
        room->vagueness[i] = room->suspects[i] = 0.0;
    }
    for (ptrdiff_t s = 0; s < task->size; s++)
        sum_parent(x, task, s, first, count, room);
    find_leverages(task, count, room);
    weigh_rows(task, count, room);
}

/* The status of row i of a piece; no branches, which could not be foretold. */
INLINE unsigned char status_of(const JudgeTask *task, const JudgeRoom *room, ptrdiff_t i)
{
    const double nearest = fmin(task->limit, task->cleaned_cutoff);
    const double farthest = task->cleaned_cutoff * task->cleaned_cutoff;
    const int agrees = (room->recorded[i] <= farthest) & (room->leverages[i] <= REACH) &
                       (room->evidence[i] < 0.0);
    const int vague = room->vagueness[i] > task->largest_vagueness;
    const int status = room->cleaned[i] > nearest * nearest ? FLAGGED : vague ? UNVERIFIED : FINE;
    return (unsigned char)(isnan(room->child[i]) ? MISSING : agrees ? FINE : status);
}

/* Note what was found of row i of a piece, and as a cell unless it is fine. */
INLINE void note_row(const JudgeTask *task, JudgeRoom *room, ptrdiff_t i, int64_t row,
                     double *spoken, Judged *judged)
{
    const Noted *noted = &room->noted;
    const unsigned char status = status_of(task, room, i);
    const double evidence = room->evidence[i];
    const ptrdiff_t cell = judged->cell_count;
    noted->rows[cell] = row;
    noted->statuses[cell] = status;
    noted->expected[cell] = room->expected[i] + task->reference;
    noted->rests[cell] = room->child[i] - room->expected[i];
    noted->variances[cell] = task->scale * task->scale * (1.0 + room->vagueness[i]);
    judged->cell_count += status != FINE;
    judged->evidence += evidence;
    *spoken = (room->suspects[i] == 1.0) | (evidence < 0.0) ? evidence : 0.0;
    judged->events[judged->event_count] = row;
    judged->event_count += room->recorded[i] <= task->limit * task->limit;
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
static void judge_all(const Matrix *x, const JudgeTask *task, JudgeRoom *room, Judged *judged)
{
    judged->cell_count = judged->event_count = 0;
    judged->evidence = 0.0;
    start_judging(task, room);
    for (ptrdiff_t first = 0; first < task->doubted_count; first += AT_ONCE) {
        const ptrdiff_t count = smaller(AT_ONCE, task->doubted_count - first);
        judge_piece(x, task, first, count, room);
        for (ptrdiff_t i = 0; i < count; i++)
            note_row(task, room, i, task->doubted[first + i], judged->spoken + first + i, judged);
    }
    note_rejected(x, task, &room->noted, judged->cell_count);
    write_cells(task, &room->noted, judged);
    write_left_out(task, judged);
}

/* Add to the testimony on the suspicious cells of the parents what their rows have spoken. */
static void testify(const JudgeTask *task, const double *spoken, double *testimony)
{
    for (ptrdiff_t s = 0; s < task->size; s++)
        for (int64_t cell = task->firsts[s]; cell < task->lasts[s]; cell++) {
            const int64_t place = task->places[task->cell_rows[cell]];
            if (place >= 0 && task->cell_variances[cell] > 0.0)
                testimony[cell] += spoken[place];
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
static void find_places(const int64_t *doubted, ptrdiff_t count, ptrdiff_t rows, int64_t *places)
{
    memset(places, -1, (size_t)rows * sizeof *places);
    for (ptrdiff_t k = 0; k < count; k++)
        places[doubted[k]] = k;
}

static int judge_rows(const Matrix *x, JudgeTask *task, const unsigned char *sound, Judged *judged,
                      double *testimony)
{
    void *memory = NULL;
    JudgeRoom room;
    const size_t rows = (size_t)x->rows + 1;
    int64_t *doubted = malloc(rows * (2 * sizeof(int64_t) + sizeof(double)));
    const int ready = doubted && open_judging(&room, task->size, x->rows, &memory) == 0;
    if (ready) {
        int64_t *places = doubted + rows;
        judged->spoken = (double *)(places + rows);
        task->doubted = doubted;
        task->places = places;
        task->doubted_count = list_doubted(sound, x->rows, doubted);
        find_places(doubted, task->doubted_count, x->rows, places);
        judge_all(x, task, &room, judged);
        testify(task, judged->spoken, testimony);
    }
    free(doubted);
    free(memory);
    return ready ? 0 : -1;
}
