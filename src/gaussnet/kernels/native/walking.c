/* The walk of the robust estimator: one node after the other, parents first, each from the rows
 * whose parent cells are not suspicious.
 *
 * The steps are those of gaussnet.estimate.robust.node, which is the definition. The walk stops at
 * a node that is to be learnt there, because digits or sound rows are lacking. */
#include "readmission.h"

/* Room for the work on one node. */
typedef struct {
    Memory regression, events;
    Regression own;
    TrimAnswer trimmed;
    JudgeTask judging;
    JudgeRoom judging_room;
    unsigned char *sound;
    double *spoken;
    int64_t *doubted, *places, *agreeing, *firsts, *lasts;
    void *memory, *judging_memory;
} WalkSpace;

static void close_walk(WalkSpace *space)
{
    free(space->regression.data);
    free(space->events.data);
    free(space->memory);
    free(space->judging_memory);
}

/* Room for nodes of up to `most` parents. */
static int open_walk(WalkSpace *space, ptrdiff_t most, ptrdiff_t rows)
{
    const ptrdiff_t width = most + 1, stride = rows + LANES;
    const ptrdiff_t values = 6 + 2 * width + width * width + 2 * stride;
    const ptrdiff_t places = 4 * stride + 2 * width;
    *space = (WalkSpace){.memory = NULL};
    space->memory = malloc((size_t)values * sizeof(double) + (size_t)places * sizeof(int64_t) +
                           (size_t)stride);
    if (!space->memory || open_judging(&space->judging_room, most, rows, &space->judging_memory) < 0)
        return -1;
    double *next = space->memory;
    space->trimmed.numbers = next;
    space->trimmed.coefficients = next + 6;
    space->trimmed.centres = next + 6 + width;
    space->trimmed.whitener = next + 6 + 2 * width;
    space->trimmed.residuals = next + values - 2 * stride;
    space->spoken = next + values - stride;
    int64_t *numbers = (int64_t *)(next + values);
    space->trimmed.rejected = numbers;
    space->doubted = numbers + stride;
    space->places = numbers + 2 * stride;
    space->agreeing = numbers + 3 * stride;
    space->firsts = numbers + 4 * stride;
    space->lasts = space->firsts + width;
    space->sound = (unsigned char *)(numbers + places);
    return 0;
}

/* Whether least squares over all rows is the answer: clean, and no parent has suspicious cells. */
static int stands(const Walk *walk, const CellTable *known, ptrdiff_t f)
{
    const Families *families = walk->families;
    int clean = (walk->verdicts[f] & IS_CLEAN) != 0;
    for (int64_t e = families->offsets[f]; clean && e < families->offsets[f + 1]; e++)
        clean = known->firsts[families->parents[e]] == known->lasts[families->parents[e]];
    return clean;
}

/* Mark the rows in which the node's own cell is recorded and no parent's is suspicious, or
 * missing if `only_missing`. */
static void mark_sound(const Matrix *x, const Walk *walk, const CellTable *known,
                            ptrdiff_t f, int only_missing, unsigned char *sound)
{
    const Families *families = walk->families;
    const double *child = (const double *)(x->data + f * x->column_stride);
    memset(sound, 1, (size_t)x->rows);
    for (ptrdiff_t r = 0; (walk->verdicts[f] & IS_HOLED) && r < x->rows; r++)
        sound[r] = !isnan(child[r]);
    for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++) {
        const int64_t parent = families->parents[e];
        for (int64_t cell = known->firsts[parent]; cell < known->lasts[parent]; cell++)
            if (!only_missing || known->statuses[cell] == MISSING)
                sound[known->rows[cell]] = 0;
    }
}

/* The rows to learn from: those without a suspicious parent, if these are enough; gives how many,
 * and lists the others. */
static ptrdiff_t find_sound(const Matrix *x, const Walk *walk, const CellTable *known,
                            ptrdiff_t f, WalkSpace *space)
{
    const ptrdiff_t size = family_size(walk->families, f) + (walk->intercept ? 1 : 0);
    mark_sound(x, walk, known, f, 0, space->sound);
    ptrdiff_t doubted = list_doubted(space->sound, x->rows, space->doubted);
    if (x->rows - doubted < greater(3 * size, size + 10)) {
        mark_sound(x, walk, known, f, 1, space->sound);
        doubted = list_doubted(space->sound, x->rows, space->doubted);
    }
    return x->rows - doubted;
}

static int trim_node(const Matrix *x, const Walk *walk, ptrdiff_t f, ptrdiff_t sound,
                     WalkSpace *space)
{
    const int suspected = (walk->verdicts[f] & HAS_FAILED) && sound == x->rows;
    const TrimLimits limits = {walk->limits->gate_level,
                               walk->limits->extent_level,
                               walk->limits->wide_level,
                               1.0 + walk->limits->spread_limit / sqrt((double)sound),
                               walk->half[f],
                               (double)suspected};
    const TrimTask task = {f,
                           walk->families->parents + walk->families->offsets[f],
                           space->sound,
                           family_size(walk->families, f),
                           sound,
                           walk->intercept};
    space->own = (Regression){.limits = &limits};
    return trim_rows(x, &task, &space->own, &space->regression, &space->trimmed);
}

/* Judge the rows rejected and those with suspicious parents. */
static void judge_node(const Matrix *x, const Walk *walk, const CellTable *known, ptrdiff_t f,
                       WalkSpace *space, Judged *judged)
{
    const TrimAnswer *trimmed = &space->trimmed;
    const ptrdiff_t size = family_size(walk->families, f), width = size + (walk->intercept ? 1 : 0);
    const int64_t *parents = walk->families->parents + walk->families->offsets[f];
    space->judging = (JudgeTask){
        .child = f, .parents = parents, .size = size,
        .doubted = space->doubted, .places = space->places,
        .rejected = trimmed->rejected, .residuals = trimmed->residuals,
        .rejected_count = space->own.rows - (ptrdiff_t)trimmed->numbers[5],
        .firsts = space->firsts, .lasts = space->lasts, .cell_rows = known->rows,
        .cell_expected = known->expected, .cell_variances = known->variances,
        .coefficients = trimmed->coefficients, .centres = trimmed->centres,
        .whitener = trimmed->whitener, .width = width, .rank = width,
        .reference = trimmed->numbers[2], .scale = trimmed->numbers[0],
        .limit = fmin(trimmed->numbers[1], walk->limits->bonferroni),
        .cleaned_cutoff = walk->limits->cleaned_cutoff, .largest_vagueness = walk->limits->largest_vagueness,
        .cap = walk->limits->cap,
        .doubted_count = x->rows - space->own.rows};
    for (ptrdiff_t s = 0; s < size; s++) {
        space->firsts[s] = known->firsts[parents[s]];
        space->lasts[s] = known->lasts[parents[s]];
    }
    find_places(space->doubted, space->judging.doubted_count, x->rows, space->places);
    judge_all(x, &space->judging, &space->judging_room, judged);
}

/* The end of a table, where the cells of the next node go. */
static Judged end_of(const CellTable *found, const Progress *progress, const WalkSpace *space)
{
    const int64_t cell = progress->cells;
    return (Judged){.rows = found->rows + cell,
                    .left_out = found->left_out + progress->left_out,
                    .events = space->agreeing,
                    .statuses = found->statuses + cell,
                    .expected = found->expected + cell,
                    .variances = found->variances + cell,
                    .deviations = found->deviations + cell,
                    .spoken = space->spoken};
}

/* Take doubted rows back if they speak for real events: 1, 0, LACKS_DIGITS, or -1. */
static int hear_events(const Matrix *x, const Walk *walk, ptrdiff_t f, WalkSpace *space,
                       Judged *judged, Readmission *result)
{
    const Events events = {f, judged->events, judged->event_count};
    if (!(judged->evidence < -walk->limits->evidence) || events.count == 0)
        return 0;
    const int back = readmit(x, walk, &events, &space->trimmed, &space->events, result);
    if (back == 1)
        leave_out_less(judged);
    return back;
}

/* Variance of the noise from the squares of the rows that the coefficients rest on, or of all rows
 * with sound parents. */
static double find_variance(const Walk *walk, WalkSpace *space, const Readmission *result,
                            double used)
{
    Regression *own = &space->own;
    const double *numbers = space->trimmed.numbers;
    if (walk->mean_square)
        return squares_left(own, result->coefficients) / (double)own->rows;
    const double variance = result->squares / truncated_variance(numbers[1]) / used;
    return variance <= numbers[3] * numbers[3] ? 0.0 : variance;
}

/* Write down what was learnt of node f. */
static void enter(const Walk *walk, ptrdiff_t f, ptrdiff_t returned, const Readmission *result,
                  WalkSpace *space, Learnt *learnt)
{
    const int64_t first = walk->families->offsets[f];
    const ptrdiff_t size = family_size(walk->families, f), constant = walk->intercept ? 1 : 0;
    const double *numbers = space->trimmed.numbers;
    const ptrdiff_t used = (ptrdiff_t)numbers[5] + returned;
    double intercept = constant ? numbers[2] + result->coefficients[0] : 0.0, centre = 0.0;
    for (ptrdiff_t s = 0; s < size; s++) {
        const double slope = result->coefficients[constant + s];
        learnt->coefficients[first + s] = slope;
        centre += slope * space->trimmed.centres[s];
    }
    learnt->intercepts[f] = constant ? intercept - centre : 0.0;
    learnt->variances[f] = find_variance(walk, space, result, (double)used);
    learnt->noise[f] = numbers[0] * numbers[0];
    learnt->cutoffs[f] = numbers[1];
    learnt->used[f] = used;
    learnt->ranks[f] = size;
    learnt->returned[f] = returned;
}

/* Learn node f: 0, LACKS_DIGITS if that is left to the caller, or -1 without memory. */
static int learn_node(const Matrix *x, const Walk *walk, const CellTable *known, ptrdiff_t f,
                      WalkSpace *space, Judged *judged, Learnt *learnt)
{
    if (walk->verdicts[f] & IS_DISCRETE)
        return LACKS_DIGITS;
    const ptrdiff_t sound = find_sound(x, walk, known, f, space);
    if (sound == 0)
        return LACKS_DIGITS;
    if (trim_node(x, walk, f, sound, space) < 0)
        return -1;
    const double *numbers = space->trimmed.numbers;
    if (isnan(numbers[0]))
        return LACKS_DIGITS;
    Readmission result = {space->trimmed.coefficients, numbers[4]};
    ptrdiff_t returned = 0;
    if (numbers[5] < (double)x->rows) {
        judge_node(x, walk, known, f, space, judged);
        const int back = hear_events(x, walk, f, space, judged, &result);
        if (back < 0 || back == LACKS_DIGITS)
            return back;
        returned = back ? judged->event_count : 0;
        testify(&space->judging, space->spoken, known->testimony);
    }
    enter(walk, f, returned, &result, space, learnt);
    return 0;
}

/* Enter the cells of node f, which were written to the end of the table. */
static void close_node(ptrdiff_t f, const Judged *judged, CellTable *found, Progress *progress)
{
    memset(found->testimony + progress->cells, 0, (size_t)judged->cell_count * sizeof(double));
    found->firsts[f] = progress->cells;
    found->left_firsts[f] = progress->left_out;
    found->lasts[f] = progress->cells += judged->cell_count;
    found->left_lasts[f] = progress->left_out += judged->left_count;
}

static int learn_nodes(const Matrix *x, const Walk *walk, const CellTable *known, Learnt *learnt,
                       CellTable *found, Progress *progress)
{
    WalkSpace space;
    int status = open_walk(&space, largest_size(walk->families), x->rows);
    progress->is_full = 0;
    for (progress->nodes = 0; status == 0 && progress->nodes < walk->count;) {
        const ptrdiff_t f = (ptrdiff_t)walk->nodes[progress->nodes];
        if (!stands(walk, known, f)) {
            Judged judged = end_of(found, progress, &space);
            progress->is_full = found->room - progress->cells < x->rows ||
                                found->room - progress->left_out < x->rows;
            if (progress->is_full)
                break;
            status = learn_node(x, walk, known, f, &space, &judged, learnt);
            if (status)
                break;
            close_node(f, &judged, found, progress);
        }
        progress->nodes++;
    }
    close_walk(&space);
    return status < 0 ? -1 : 0;
}
