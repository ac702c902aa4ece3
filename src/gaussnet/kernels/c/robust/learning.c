/* Learning by the robust estimator: one node after the other, parents first, each from the rows
 * whose parent cells are not suspicious.
 *
 * The steps are those of gaussnet.methods.robust.node, which is the definition. The learning stops at
 * a node that is to be learnt there, because digits or sound rows are lacking. */
#include "robust/cells.h"
#include "robust/judging.h"
#include "robust/trimming.h"

/* The levels and limits of a learning; `bonferroni` is the largest cutoff. */
typedef struct {
    double gate_level, extent_level, wide_level, spread_limit;
    double bonferroni, cleaned_cutoff, largest_vagueness, cap, evidence;
} WalkLimits;

/* Nodes to be learnt, parents first, and what is known of them before. */
typedef struct {
    const Families *families; /* family f is that of node f, in column f */
    const int64_t *nodes;
    ptrdiff_t count;
    int intercept;
    int mean_square; /* whether the variance is that of all rows with sound parents */
    const WalkLimits *limits;
    const double *half;            /* largest half-sample statistics, (nodes,) */
    const double *farthest;        /* how far readmitted rows may move coefficients, (nodes,) */
    const unsigned char *verdicts; /* IS_CLEAN, HAS_FAILED, IS_HOLED, IS_DISCRETE, (nodes,) */
} Learning;

/* Least squares over all rows looks clean; it fails the checks; a cell of the node is missing; its
 * column has few values, so that it is left to the caller. */
#define IS_CLEAN 1
#define HAS_FAILED 2
#define IS_HOLED 4
#define IS_DISCRETE 8

/* What is learnt of the nodes, (nodes,) each; the coefficients are (edges,). */
typedef struct {
    double *coefficients, *intercepts, *variances, *noise, *cutoffs;
    int64_t *used, *ranks, *returned;
} Learnt;

/* How far a learning has come: cells and rows left out in the table, nodes done, and whether it
 * stopped for want of space. */
typedef struct {
    int64_t cells, left_out, nodes, is_full;
} Progress;

/* Rows with suspicious parents that come back as good leverage points. */

#define LACKS_DIGITS 2

/* Coefficients, and the sum of squared residuals of the rows that they rest on. */
typedef struct {
    double *coefficients;
    double squares;
} Readmission;

/* Rows of node f that agree with its parents as recorded. */
typedef struct {
    ptrdiff_t f;
    const int64_t *rows;
    ptrdiff_t count;
} Events;

/* The columns of such rows, Z, as they are and in orthogonal directions, G = W Z; what the
 * coefficients leave of the child; and I + G G', factored. */
typedef struct {
    ptrdiff_t size, count;
    const double **columns, **white;
    double *child, *residuals, *step, *coefficients;
    Factor factor;
} ReadmittedRows;

static double column_product(const double *left, const double *right, ptrdiff_t rows)
{
    Lanes sums = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + LANES <= rows; r += LANES)
        sums += load(left + r) * load(right + r);
    double total = sum_lanes(sums);
    for (; r < rows; r++)
        total += left[r] * right[r];
    return total;
}

static int open_readmission(ReadmittedRows *own, ptrdiff_t size, ptrdiff_t count, Memory *memory)
{
    const ptrdiff_t stride = count + LANES, square = size * size;
    const ptrdiff_t values = (2 * size + 2) * stride + triangle_length(size + 1) + 2 * square +
                             4 * size;
    double *next = take_memory(
        memory, (size_t)values * sizeof(double) + (size_t)(2 * size + 1) * sizeof(double *));
    if (!next)
        return -1;
    own->size = own->factor.size = size;
    own->count = count;
    own->columns = (const double **)(next + values);
    own->white = own->columns + size;
#define TAKE(values) (next += (values), next - (values))
    for (ptrdiff_t c = 0; c < 2 * size; c++)
        own->columns[c] = TAKE(stride);
    own->child = TAKE(stride);
    own->residuals = TAKE(stride);
    own->factor.packed = TAKE(triangle_length(size + 1));
    own->factor.lower = TAKE(square);
    own->factor.whitener = TAKE(square);
    own->factor.scales = TAKE(size);
    own->factor.white = TAKE(size);
    own->step = TAKE(size);
    own->coefficients = TAKE(size);
#undef TAKE
    return 0;
}

static void read_rows(const Matrix *x, int64_t column, const Events *events, double centre,
                      double *to)
{
    const double *from = (const double *)(x->data + column * x->column_stride);
    for (ptrdiff_t k = 0; k < events->count; k++)
        to[k] = from[events->rows[k]] - centre;
}

/* Read the rows, and multiply them by the whitener of the rows kept. */
static void fill_readmission(ReadmittedRows *own, const Matrix *x, const Learning *learning, const Events *events,
                           const TrimAnswer *trimmed)
{
    const ptrdiff_t constant = learning->intercept ? 1 : 0;
    const int64_t *parents = learning->families->parents + learning->families->offsets[events->f];
    for (ptrdiff_t k = 0; constant && k < own->count; k++)
        ((double *)own->columns[0])[k] = 1.0;
    for (ptrdiff_t c = constant; c < own->size; c++)
        read_rows(x, parents[c - constant], events, trimmed->centres[c - constant],
                  (double *)own->columns[c]);
    read_rows(x, events->f, events, trimmed->numbers[2], own->child);
    memset(own->residuals, 0, (size_t)own->count * sizeof(double));
    for (ptrdiff_t i = 0; i < own->size; i++)
        add_combination(own->columns, i + 1, trimmed->whitener + i * own->size, 1.0,
                        own->residuals, own->count, (double *)own->white[i]);
}

/* Factor I + G G'; 0 if digits are lacking. */
static int factor_readmission(ReadmittedRows *own)
{
    for (ptrdiff_t i = 0; i < own->size; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            own->factor.packed[triangle_length(i) + j] =
                column_product(own->white[i], own->white[j], own->count) + (i == j ? 1.0 : 0.0);
    if (!factor_products(&own->factor))
        return 0;
    find_whitener(&own->factor);
    return 1;
}

/* What the coefficients leave of the child. */
static void leave_residuals(ReadmittedRows *own)
{
    add_combination(own->columns, own->size, own->coefficients, -1.0, own->child, own->count,
                    own->residuals);
}

/* Find the step that the rows ask for, (I + G G')^-1 G r in orthogonal directions, in two goes. */
static void find_readmission(ReadmittedRows *own, const TrimAnswer *trimmed)
{
    const ptrdiff_t size = own->size;
    memset(own->step, 0, (size_t)size * sizeof(double));
    memcpy(own->coefficients, trimmed->coefficients, (size_t)size * sizeof(double));
    leave_residuals(own);
    for (int go = 0; go < 2; go++) {
        double *wanted = own->factor.packed + triangle_length(size);
        for (ptrdiff_t i = 0; i < size; i++)
            wanted[i] = column_product(own->white[i], own->residuals, own->count) - own->step[i];
        fit_white(&own->factor);
        add_step(&own->factor, own->step);
        for (ptrdiff_t j = 0; j < size; j++) {
            double sum = 0.0;
            for (ptrdiff_t i = j; i < size; i++)
                sum += trimmed->whitener[i * size + j] * own->step[i];
            own->coefficients[j] = trimmed->coefficients[j] + sum;
        }
        leave_residuals(own);
    }
}

/* Take the rows back if they fit: 1 if they do, 0 if not, LACKS_DIGITS, or -1 without memory. */
static int readmit(const Matrix *x, const Learning *learning, const Events *events,
                   const TrimAnswer *trimmed, Memory *memory, Readmission *result)
{
    ReadmittedRows own;
    const ptrdiff_t parents = family_size(learning->families, events->f);
    const double variance = trimmed->numbers[0] * trimmed->numbers[0], count = (double)events->count;
    if (open_readmission(&own, parents + (learning->intercept ? 1 : 0), events->count, memory) < 0)
        return -1;
    fill_readmission(&own, x, learning, events, trimmed);
    if (!factor_readmission(&own))
        return LACKS_DIGITS;
    find_readmission(&own, trimmed);
    const double moved = column_product(own.step, own.step, own.size);
    const double squares = column_product(own.residuals, own.residuals, own.count);
    if (moved > variance * learning->farthest[events->f] ||
        squares > variance * (count + 3.0 * sqrt(2.0 * count)))
        return 0;
    *result = (Readmission){own.coefficients, result->squares + moved + squares};
    return 1;
}

/* Take the events out of the rows left out; both ascend. */
static void leave_out_less(Judged *judged)
{
    ptrdiff_t kept = 0, event = 0;
    for (ptrdiff_t k = 0; k < judged->left_count; k++) {
        const int64_t row = judged->left_out[k];
        if (event < judged->event_count && judged->events[event] == row)
            event++;
        else
            judged->left_out[kept++] = row;
    }
    judged->left_count = kept;
}

/* space for the work on one node. */
typedef struct {
    Memory regression, events;
    Regression own;
    TrimAnswer trimmed;
    JudgeTask judging;
    JudgeWork judging_work;
    unsigned char *sound;
    double *row_evidence;
    int64_t *doubted, *positions, *agreeing, *firsts, *lasts;
    void *memory, *judging_memory;
} LearningSpace;

static void close_learning(LearningSpace *space)
{
    free(space->regression.data);
    free(space->events.data);
    free(space->memory);
    free(space->judging_memory);
}

/* space for nodes of up to `most` parents. */
static int open_learning(LearningSpace *space, ptrdiff_t most, ptrdiff_t rows)
{
    const ptrdiff_t width = most + 1, stride = rows + LANES;
    const ptrdiff_t values = 6 + 2 * width + width * width + 2 * stride;
    const ptrdiff_t positions = 4 * stride + 2 * width;
    *space = (LearningSpace){.memory = NULL};
    space->memory = malloc((size_t)values * sizeof(double) + (size_t)positions * sizeof(int64_t) +
                           (size_t)stride);
    if (!space->memory || open_judging(&space->judging_work, most, rows, &space->judging_memory) < 0)
        return -1;
    double *next = space->memory;
    space->trimmed.numbers = next;
    space->trimmed.coefficients = next + 6;
    space->trimmed.centres = next + 6 + width;
    space->trimmed.whitener = next + 6 + 2 * width;
    space->trimmed.residuals = next + values - 2 * stride;
    space->row_evidence = next + values - stride;
    int64_t *numbers = (int64_t *)(next + values);
    space->trimmed.rejected = numbers;
    space->doubted = numbers + stride;
    space->positions = numbers + 2 * stride;
    space->agreeing = numbers + 3 * stride;
    space->firsts = numbers + 4 * stride;
    space->lasts = space->firsts + width;
    space->sound = (unsigned char *)(numbers + positions);
    return 0;
}

/* Whether least squares over all rows is the answer: clean, and no parent has suspicious cells. */
static int stands(const Learning *learning, const CellTable *known, ptrdiff_t f)
{
    const Families *families = learning->families;
    int clean = (learning->verdicts[f] & IS_CLEAN) != 0;
    for (int64_t e = families->offsets[f]; clean && e < families->offsets[f + 1]; e++)
        clean = known->firsts[families->parents[e]] == known->lasts[families->parents[e]];
    return clean;
}

/* Mark the rows in which the node's own cell is recorded and no parent's is suspicious, or
 * missing if `only_missing`. */
static void mark_sound(const Matrix *x, const Learning *learning, const CellTable *known,
                            ptrdiff_t f, int only_missing, unsigned char *sound)
{
    const Families *families = learning->families;
    const double *child = (const double *)(x->data + f * x->column_stride);
    memset(sound, 1, (size_t)x->rows);
    for (ptrdiff_t r = 0; (learning->verdicts[f] & IS_HOLED) && r < x->rows; r++)
        sound[r] = (unsigned char)!isnan(child[r]);
    for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++) {
        const int64_t parent = families->parents[e];
        for (int64_t cell = known->firsts[parent]; cell < known->lasts[parent]; cell++)
            if (!only_missing || known->statuses[cell] == MISSING)
                sound[known->rows[cell]] = 0;
    }
}

/* The rows to learn from: those without a suspicious parent, if these are enough; gives how many,
 * and lists the others. */
static ptrdiff_t find_sound(const Matrix *x, const Learning *learning, const CellTable *known,
                            ptrdiff_t f, LearningSpace *space)
{
    const ptrdiff_t size = family_size(learning->families, f) + (learning->intercept ? 1 : 0);
    mark_sound(x, learning, known, f, 0, space->sound);
    ptrdiff_t doubted = list_doubted(space->sound, x->rows, space->doubted);
    if (x->rows - doubted < greater(3 * size, size + 10)) {
        mark_sound(x, learning, known, f, 1, space->sound);
        doubted = list_doubted(space->sound, x->rows, space->doubted);
    }
    return x->rows - doubted;
}

static int trim_node(const Matrix *x, const Learning *learning, ptrdiff_t f, ptrdiff_t sound,
                     LearningSpace *space)
{
    const int suspected = (learning->verdicts[f] & HAS_FAILED) && sound == x->rows;
    const TrimLimits limits = {learning->limits->gate_level,
                               learning->limits->extent_level,
                               learning->limits->wide_level,
                               1.0 + learning->limits->spread_limit / sqrt((double)sound),
                               learning->half[f],
                               (double)suspected};
    const TrimTask task = {f,
                           learning->families->parents + learning->families->offsets[f],
                           space->sound,
                           family_size(learning->families, f),
                           sound,
                           learning->intercept};
    space->own = (Regression){.limits = &limits};
    return trim_rows(x, &task, &space->own, &space->regression, &space->trimmed);
}

/* Judge the rows rejected and those with suspicious parents. */
static void judge_node(const Matrix *x, const Learning *learning, const CellTable *known, ptrdiff_t f,
                       LearningSpace *space, Judged *judged)
{
    const TrimAnswer *trimmed = &space->trimmed;
    const ptrdiff_t size = family_size(learning->families, f), width = size + (learning->intercept ? 1 : 0);
    const int64_t *parents = learning->families->parents + learning->families->offsets[f];
    space->judging = (JudgeTask){
        .child = f, .parents = parents, .size = size,
        .doubted = space->doubted, .positions = space->positions,
        .rejected = trimmed->rejected, .residuals = trimmed->residuals,
        .rejected_count = space->own.rows - (ptrdiff_t)trimmed->numbers[5],
        .firsts = space->firsts, .lasts = space->lasts, .cell_rows = known->rows,
        .cell_expected = known->expected, .cell_variances = known->variances,
        .coefficients = trimmed->coefficients, .centres = trimmed->centres,
        .whitener = trimmed->whitener, .width = width, .rank = width,
        .reference = trimmed->numbers[2], .scale = trimmed->numbers[0],
        .limit = fmin(trimmed->numbers[1], learning->limits->bonferroni),
        .cleaned_cutoff = learning->limits->cleaned_cutoff, .largest_vagueness = learning->limits->largest_vagueness,
        .cap = learning->limits->cap,
        .doubted_count = x->rows - space->own.rows};
    for (ptrdiff_t s = 0; s < size; s++) {
        space->firsts[s] = known->firsts[parents[s]];
        space->lasts[s] = known->lasts[parents[s]];
    }
    find_positions(space->doubted, space->judging.doubted_count, x->rows, space->positions);
    judge_all(x, &space->judging, &space->judging_work, judged);
}

/* The end of a table, where the cells of the next node go. */
static Judged end_of(const CellTable *found, const Progress *progress, const LearningSpace *space)
{
    const int64_t cell = progress->cells;
    return (Judged){.rows = found->rows + cell,
                    .left_out = found->left_out + progress->left_out,
                    .events = space->agreeing,
                    .statuses = found->statuses + cell,
                    .expected = found->expected + cell,
                    .variances = found->variances + cell,
                    .deviations = found->deviations + cell,
                    .row_evidence = space->row_evidence};
}

/* Take doubted rows back if they speak for real events: 1, 0, LACKS_DIGITS, or -1. */
static int readmit_events(const Matrix *x, const Learning *learning, ptrdiff_t f, LearningSpace *space,
                       Judged *judged, Readmission *result)
{
    const Events events = {f, judged->events, judged->event_count};
    if (!(judged->evidence < -learning->limits->evidence) || events.count == 0)
        return 0;
    const int back = readmit(x, learning, &events, &space->trimmed, &space->events, result);
    if (back == 1)
        leave_out_less(judged);
    return back;
}

/* Variance of the noise from the squares of the rows that the coefficients rest on, or of all rows
 * with sound parents. */
static double find_variance(const Learning *learning, LearningSpace *space, const Readmission *result,
                            double used)
{
    Regression *own = &space->own;
    const double *numbers = space->trimmed.numbers;
    if (learning->mean_square)
        return squares_left(own, result->coefficients) / (double)own->rows;
    const double variance = result->squares / truncated_variance(numbers[1]) / used;
    return variance <= numbers[3] * numbers[3] ? 0.0 : variance;
}

/* Write down what was learnt of node f. */
static void enter(const Learning *learning, ptrdiff_t f, ptrdiff_t returned, const Readmission *result,
                  LearningSpace *space, Learnt *learnt)
{
    const int64_t first = learning->families->offsets[f];
    const ptrdiff_t size = family_size(learning->families, f), constant = learning->intercept ? 1 : 0;
    const double *numbers = space->trimmed.numbers;
    const ptrdiff_t used = (ptrdiff_t)numbers[5] + returned;
    double intercept = constant ? numbers[2] + result->coefficients[0] : 0.0, centre = 0.0;
    for (ptrdiff_t s = 0; s < size; s++) {
        const double slope = result->coefficients[constant + s];
        learnt->coefficients[first + s] = slope;
        centre += slope * space->trimmed.centres[s];
    }
    learnt->intercepts[f] = constant ? intercept - centre : 0.0;
    learnt->variances[f] = find_variance(learning, space, result, (double)used);
    learnt->noise[f] = numbers[0] * numbers[0];
    learnt->cutoffs[f] = numbers[1];
    learnt->used[f] = used;
    learnt->ranks[f] = size;
    learnt->returned[f] = returned;
}

/* Learn node f: 0, LACKS_DIGITS if that is left to the caller, or -1 without memory. */
static int learn_node(const Matrix *x, const Learning *learning, const CellTable *known, ptrdiff_t f,
                      LearningSpace *space, Judged *judged, Learnt *learnt)
{
    if (learning->verdicts[f] & IS_DISCRETE)
        return LACKS_DIGITS;
    const ptrdiff_t sound = find_sound(x, learning, known, f, space);
    if (sound == 0)
        return LACKS_DIGITS;
    if (trim_node(x, learning, f, sound, space) < 0)
        return -1;
    const double *numbers = space->trimmed.numbers;
    if (isnan(numbers[0]))
        return LACKS_DIGITS;
    Readmission result = {space->trimmed.coefficients, numbers[4]};
    ptrdiff_t returned = 0;
    if (numbers[5] < (double)x->rows) {
        judge_node(x, learning, known, f, space, judged);
        const int back = readmit_events(x, learning, f, space, judged, &result);
        if (back < 0 || back == LACKS_DIGITS)
            return back;
        returned = back ? judged->event_count : 0;
        testify(&space->judging, space->row_evidence, known->log_ratios);
    }
    enter(learning, f, returned, &result, space, learnt);
    return 0;
}

/* Enter the cells of node f, which were written to the end of the table. */
static void close_node(ptrdiff_t f, const Judged *judged, CellTable *found, Progress *progress)
{
    memset(found->log_ratios + progress->cells, 0, (size_t)judged->cell_count * sizeof(double));
    found->firsts[f] = progress->cells;
    found->left_firsts[f] = progress->left_out;
    found->lasts[f] = progress->cells += judged->cell_count;
    found->left_lasts[f] = progress->left_out += judged->left_count;
}

/* Learn nodes until one is left to the caller or the table is full. */
static int learn_in_order(const Matrix *x, const Learning *learning, const CellTable *known,
                          Learnt *learnt, CellTable *found, Progress *progress)
{
    LearningSpace space;
    int status = open_learning(&space, largest_size(learning->families), x->rows);
    progress->is_full = 0;
    for (progress->nodes = 0; status == 0 && progress->nodes < learning->count;) {
        const ptrdiff_t f = (ptrdiff_t)learning->nodes[progress->nodes];
        if (!stands(learning, known, f)) {
            Judged judged = end_of(found, progress, &space);
            progress->is_full = found->capacity - progress->cells < x->rows ||
                                found->capacity - progress->left_out < x->rows;
            if (progress->is_full)
                break;
            status = learn_node(x, learning, known, f, &space, &judged, learnt);
            if (status)
                break;
            close_node(f, &judged, found, progress);
        }
        progress->nodes++;
    }
    close_learning(&space);
    return status < 0 ? NO_MEMORY : 0;
}

/* The arguments are columns, families, nodes, intercept, mean_square; limits, half, farthest and
 * verdicts; what is learnt: coefficients, numbers and counts; the table of known cells, the table
 * of found ones, and the progress. */
static ptrdiff_t learn_nodes(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const ptrdiff_t nodes = families->count;
    const Learning learning = {.families = families, .nodes = given[2].values, .count = given[2].length,
                       .intercept = (int)given[3].number, .mean_square = (int)given[4].number,
                       .limits = given[5].values, .half = given[6].values,
                       .farthest = given[7].values, .verdicts = given[8].values};
    double *numbers = given[10].values;
    int64_t *counts = given[11].values;
    Learnt learnt = {.coefficients = given[9].values, .intercepts = numbers,
                     .variances = numbers + nodes, .noise = numbers + 2 * nodes,
                     .cutoffs = numbers + 3 * nodes, .used = counts, .ranks = counts + nodes,
                     .returned = counts + 2 * nodes};
    CellTable known = read_table(given + 12), found = read_table(given + 17);
    Progress *progress = given[22].values;
    known.log_ratios = given[16].values;
    found.log_ratios = given[21].values;
    if (!has_rows(&known, nodes, x->rows) || progress->cells < 0 || progress->left_out < 0)
        return REFUSED;
    return learn_in_order(x, &learning, &known, &learnt, &found, progress);
}
