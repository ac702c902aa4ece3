/* The expectation step of the mixture for wrong cells: what the rows say of the network if each
 * cell is wrong with some chance, missing cells are unknown, and whole rows may be foreign. */
#include "robust/slight.h"

/* What all rows add up to. */
typedef struct {
    double *products, *sums, *law_sums, *column_sums;
    double *lost; /* information that doubts take, a square matrix of scores a family, or NULL */
} MixtureTotals;

/* The arguments of the kernel, by name. */
typedef struct {
    Matrix rows;
    Families families;
    const double *coefficients, *variances, *means, *foreign;
    double base, foreign_odds;
    unsigned char *wrong;
    double *densities, *foreign_chances, *filled, *chances;
} MixtureTask;

/* A block of rows: column c of row s is at [c * SIDE + s]. */
typedef struct {
    double *deviations, *gradients, *weighted;
    double weights[SIDE], squares[SIDE];
    unsigned char *missing;   /* (columns,) of one row */
    double *row, *own, *bent; /* of one row: values, deviations, gradients */
} Block16;

/* Count a wrong cell among the sums of the laws. */
static void count_wrong(const Mixture *mixture, const RowSearch *search, const MixtureTotals *totals,
                        ptrdiff_t cell, double error, double variance, double weight)
{
    if (search->missing[cell])
        return;
    const ptrdiff_t laws = mixture->law_count;
    const double unit = mixture->parameters[cell * PARAMETERS + UNIT], size = fabs(error);
    const double squares = size * size - variance, in_units = size / unit;
    const double squared_units = squares / (unit * unit);
    const ValueLaws *value = value_of(mixture, search, cell);
    double shares[MOST_LAWS + 2], *own = totals->column_sums + cell * COLUMN_SUMS;
    law_shares(&mixture->by_column[cell], value, error, variance, shares);
    for (ptrdiff_t k = 0; k < laws; k++) {
        const double share = weight * shares[k];
        totals->law_sums[3 * k] += share;
        totals->law_sums[3 * k + 1] += share * in_units;
        totals->law_sums[3 * k + 2] += share * squared_units;
    }
    const double shifted = weight * shares[laws], own_kind = weight * shares[MOST_LAWS + 1];
    own[WRONG] += weight;
    own[REDRAWN] += weight * shares[MOST_LAWS];
    own[OWN] += own_kind;
    own[OWN_SUM] += own_kind * value->apart;
    own[OWN_SQUARES] += own_kind * value->apart * value->apart;
    own[SHIFTED] += shifted;
    own[SHIFTED_SUM] += shifted * size;
    own[SHIFTED_SQUARES] += shifted * squares;
}

/* What is expected of one row in doubt. */
typedef struct {
    double weight;
    double *corrections, *chances; /* (columns,): expected errors, chances to be wrong */
} Expectation;

/* Number the firm cells, and after them the doubted ones. */
static void index_cells(RowSearch *search)
{
    const Pattern *now = search->now;
    for (ptrdiff_t k = 0; k < now->count; k++)
        search->index[now->cells[k]] = (int16_t)k;
    for (ptrdiff_t d = 0; d < search->doubted_count; d++)
        search->index[search->doubted[d]] = (int16_t)(now->count + d);
}

static void forget_cells(RowSearch *search)
{
    for (ptrdiff_t k = 0; k < search->now->count; k++)
        search->index[search->now->cells[k]] = NOWHERE;
    for (ptrdiff_t d = 0; d < search->doubted_count; d++)
        search->index[search->doubted[d]] = NOWHERE;
}

/* Add to the products of a cell with others: `values` by their index among firm and doubted cells. */
INLINE void add_cell_products(const Mixture *mixture, const RowSearch *search, const MixtureTotals *totals,
                         ptrdiff_t cell, const double *values, double weight)
{
    for (int64_t n = mixture->starts[cell]; n < mixture->starts[cell + 1]; n++) {
        const ptrdiff_t index = search->index[mixture->neighbours[n]];
        if (index >= 0)
            totals->products[n] += weight * values[index];
    }
}

/* What the covariance of a doubted cell with those of its group makes of what they carry. */
INLINE double carried_spread(const RowSearch *search, const Combinations *all, ptrdiff_t firm,
                             ptrdiff_t group, ptrdiff_t cell)
{
    double sum = 0.0;
    for (ptrdiff_t c = search->groups[group]; c < search->groups[group + 1]; c++)
        sum -= all->carried[firm * MOST_DOUBTED + c] * all->covariance[c * MOST_DOUBTED + cell];
    return sum;
}

/* Covariances of the errors of firm cells (first) and doubted ones, added to the products. */
static void add_error_covariances(const Mixture *mixture, RowSearch *search, const Combinations *all,
                            const MixtureTotals *totals, double weight)
{
    const Pattern *now = search->now;
    const ptrdiff_t firm = now->count;
    double values[MOST_WRONG + MOST_DOUBTED];
    index_cells(search);
    for (ptrdiff_t k = 0; k < firm; k++) {
        double *spread = values + firm;
        memcpy(values, now->variance + k * MOST_WRONG, (size_t)firm * sizeof *values);
        for (ptrdiff_t g = 0; g < all->groups; g++)
            for (ptrdiff_t d = search->groups[g]; d < search->groups[g + 1]; d++) {
                spread[d] = carried_spread(search, all, k, g, d);
                for (ptrdiff_t j = 0; spread[d] != 0.0 && j < firm; j++)
                    values[j] -= spread[d] * all->carried[j * MOST_DOUBTED + d];
            }
        add_cell_products(mixture, search, totals, now->cells[k], values, weight);
    }
    for (ptrdiff_t g = 0; g < all->groups; g++)
        for (ptrdiff_t d = search->groups[g]; d < search->groups[g + 1]; d++) {
            for (ptrdiff_t j = 0; j < firm; j++)
                values[j] = carried_spread(search, all, j, g, d);
            memcpy(values + firm, all->covariance + d * MOST_DOUBTED, (size_t)all->count * sizeof(double));
            add_cell_products(mixture, search, totals, search->doubted[d], values, weight);
        }
    forget_cells(search);
}

/* Errors of firm and doubted cells: means, chances, and variances added to the products. */
static void add_joint(const Mixture *mixture, RowSearch *search, const Combinations *all,
                      const MixtureTotals *totals, Expectation *to)
{
    const Pattern *now = search->now;
    const double weight = to->weight;
    for (ptrdiff_t k = 0; k < now->count; k++) {
        const ptrdiff_t cell = now->cells[k];
        to->corrections[cell] = now->errors[k];
        to->chances[cell] = 1.0;
        for (ptrdiff_t d = 0; d < all->count; d++)
            to->corrections[cell] -= all->carried[k * MOST_DOUBTED + d] * all->mean[d];
        count_wrong(mixture, search, totals, cell, to->corrections[cell],
                    now->variance[k * MOST_WRONG + k], weight);
    }
    for (ptrdiff_t d = 0; d < all->count; d++) {
        to->corrections[search->doubted[d]] = all->mean[d];
        to->chances[search->doubted[d]] = all->chance[d];
    }
    add_error_covariances(mixture, search, all, totals, weight);
    for (ptrdiff_t s = 0; s < all->starts[all->groups]; s++)
        for (ptrdiff_t i = 0; all->each[s].score > 0.0 && i < all->each[s].count; i++) {
            const Combination *one = &all->each[s];
            count_wrong(mixture, search, totals, search->doubted[one->members[i]], one->errors[i],
                        one->variance[i * MOST_JOINT + i], weight * one->score);
        }
}

/* The scores of a family, if one combination of the doubted cells is wrong: coefficients, constant
 * and variance, times the variance of the noise or its square. */
static void combination_scores(const MixtureTask *task, const RowSearch *search, const Combinations *all,
                               const Combination *one, ptrdiff_t family, double *scores)
{
    const Families *families = &task->families;
    const ptrdiff_t firm = search->now->count, first = families->offsets[family];
    const ptrdiff_t parents = families->offsets[family + 1] - first;
    double errors[MOST_DOUBTED] = {0}, weights[MOST_DOUBTED] = {0}, rest = 0.0, spread = 0.0;
    ptrdiff_t place[MOST_DOUBTED]; /* of the doubted cell in the family, -1 if it is not there */
    for (ptrdiff_t i = 0; i < one->count; i++)
        errors[one->members[i]] = one->errors[i];
    for (ptrdiff_t d = 0; d < MOST_DOUBTED; d++)
        place[d] = -1;
    for (ptrdiff_t k = 0; k <= parents; k++) {
        const ptrdiff_t cell = k < parents ? families->parents[first + k] : family;
        const ptrdiff_t index = search->index[cell];
        const double weight = k < parents ? -task->coefficients[first + k] : 1.0;
        double value = search->deviation[cell];
        if (index >= firm) {
            value -= errors[index - firm];
            weights[index - firm] = weight;
            place[index - firm] = k;
        } else if (index >= 0) {
            value -= search->now->errors[index];
            for (ptrdiff_t d = 0; d < all->count; d++)
                value += all->carried[index * MOST_DOUBTED + d] * errors[d];
        }
        scores[k] = value; /* that of the child is written over by the constant's */
        rest += weight * value;
    }
    for (ptrdiff_t k = 0; k < parents; k++)
        scores[k] *= rest;
    for (ptrdiff_t i = 0; i < one->count; i++) {
        double across = 0.0; /* covariance of the residual with the cell */
        for (ptrdiff_t j = 0; j < one->count; j++)
            across += weights[one->members[j]] * one->variance[i * MOST_JOINT + j];
        spread += weights[one->members[i]] * across;
        if (place[one->members[i]] >= 0 && place[one->members[i]] < parents)
            scores[place[one->members[i]]] += across;
    }
    scores[parents] = rest;
    scores[parents + 1] = 0.5 * (rest * rest + spread);
}

/* The covariance of a family's scores over the combinations of a group, added to what is lost. */
static void add_lost_scores(const MixtureTask *task, const RowSearch *search, const Combinations *all,
                            ptrdiff_t group, ptrdiff_t family, double weight, double *scores, double *lost)
{
    const ptrdiff_t size = task->families.offsets[family + 1] - task->families.offsets[family] + 2;
    double *mean = scores + size;
    memset(mean, 0, (size_t)size * sizeof *mean);
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t s = all->starts[group]; s < all->starts[group + 1]; s++) {
            const double chance = all->each[s].score;
            if (chance == 0.0)
                continue;
            combination_scores(task, search, all, &all->each[s], family, scores);
            for (ptrdiff_t i = 0; i < size; i++)
                if (pass == 0)
                    mean[i] += chance * scores[i];
                else
                    for (ptrdiff_t j = 0; j < size; j++)
                        lost[i * size + j] += weight * chance * (scores[i] - mean[i]) * (scores[j] - mean[j]);
        }
}

/* What doubts about a row's cells take from the information. Doubted cells of one family are in one
 * group. */
static void add_lost(const MixtureTask *task, RowSearch *search, const Combinations *all, double weight,
                     double *scores, double *lost)
{
    const Families *families = &task->families;
    const ptrdiff_t firm = search->now->count;
    index_cells(search);
    for (ptrdiff_t f = 0; all->count > 0 && f < families->count; f++) {
        const int64_t first = families->offsets[f], last = families->offsets[f + 1];
        const ptrdiff_t size = (ptrdiff_t)(last - first) + 2;
        ptrdiff_t doubted = search->index[f] - firm, group = 0;
        for (int64_t e = first; e < last; e++) {
            const ptrdiff_t parent = search->index[families->parents[e]] - firm;
            doubted = parent > doubted ? parent : doubted;
        }
        while (doubted >= search->groups[group + 1])
            group++;
        if (doubted >= 0)
            add_lost_scores(task, search, all, group, f, weight, scores, lost);
        lost += size * size;
    }
    forget_cells(search);
}

/* Whether a candidate is neither in the pattern nor among the cells in doubt. */
INLINE int is_slight(const Mixture *mixture, const RowSearch *search, const Candidate *candidate)
{
    for (ptrdiff_t d = 0; d < search->doubted_count; d++)
        if (search->doubted[d] == candidate->cell)
            return 0;
    return candidate->gain > mixture->least && !search->missing[candidate->cell];
}

/* Cells that are a little in doubt, each by itself. */
static void add_slight(const Mixture *mixture, const RowSearch *search, const MixtureTotals *totals,
                       Expectation *to)
{
    for (ptrdiff_t c = 0; c < search->candidate_count; c++) {
        const Candidate *candidate = &search->candidates[c];
        if (!is_slight(mixture, search, candidate))
            continue;
        const ptrdiff_t cell = candidate->cell;
        const double chance = 1.0 / (1.0 + exp(-candidate->gain));
        const double variance = 1.0 / candidate->precision, error = candidate->gradient * variance;
        to->corrections[cell] = chance * error;
        to->chances[cell] = chance;
        const int64_t entry = entry_of(mixture, cell, cell);
        if (entry >= 0)
            totals->products[entry] +=
                to->weight * chance * (variance + (1.0 - chance) * error * error);
        count_wrong(mixture, search, totals, cell, error, variance, to->weight * chance);
    }
}

/* Space for the work on a block of rows, all of it in one piece. */
typedef struct {
    Block16 block;
    RowSearch search;
    Pattern patterns[2];
    Combinations combinations;
    double lower[MOST_WRONG * MOST_WRONG];
    double *corrections, *chances, *scores;
    SlightCells slight;
    CoupledPairs pairs;
} MixtureSpace;

/* Log density of the row as one of ours is known: the chance that it is foreign, and its weight. */
static void weigh_row(const MixtureTask *task, ptrdiff_t row, double log_density, double *weight)
{
    double chance = 0.0;
    if (task->foreign) {
        const double odds = task->foreign_odds + task->foreign[row] - log_density;
        chance = odds > 0.0 ? 1.0 / (1.0 + exp(-odds)) : exp(odds) / (1.0 + exp(odds));
        log_density += odds > 0.0 ? odds + log1p(exp(-odds)) : log1p(exp(odds));
    }
    task->densities[row] = log_density;
    task->foreign_chances[row] = chance;
    *weight = 1.0 - chance;
}

/* A row that is wrong as a whole has no weight. Where no second network says how likely it is, it is as
 * likely as if it were right: what leaves rows out is no likelier for it. */
static void leave_out(const MixtureTask *task, Block16 *block, ptrdiff_t row, ptrdiff_t side)
{
    task->densities[row] = task->foreign ? task->foreign[row] + task->foreign_odds
                                         : task->base - 0.5 * block->squares[side];
    task->foreign_chances[row] = 1.0;
    block->weights[side] = 0.0;
}

/* The cells of a row that are in more than slight doubt, each by itself. */
static void list_notable_cells(const SlightCells *cells, ptrdiff_t columns, RowSearch *search)
{
    search->notable_count = 0;
    for (ptrdiff_t c = 0; c < columns; c++) {
        search->notable[search->notable_count] = c;
        search->notable_count += (cells->notable[c] & search->side) != 0;
    }
}

/* Leave the cells that are neither candidates nor in the pattern to the work on the whole block; the log
 * density that they add. */
static double leave_slight_cells(const RowSearch *search, const SlightCells *cells, ptrdiff_t columns,
                                 ptrdiff_t side)
{
    double product = 1.0, added = 0.0;
    for (ptrdiff_t c = 0; c < columns; c++) {
        if (search->index[c] != NOWHERE)
            continue;
        cells->active[c * SIDE + side] = 1.0;
        product *= 1.0 + cells->odds[c * SIDE + side];
        if (product > 1e100) {
            added += log(product);
            product = 1.0;
        }
    }
    return added + log(product);
}

/* A row with cells that are missing, were wrong before, or are far from what others expect. */
static void expect_doubtful_row(const Mixture *mixture, const MixtureTask *task, MixtureSpace *space,
                       const MixtureTotals *totals, ptrdiff_t row, ptrdiff_t side)
{
    RowSearch *search = &space->search;
    Block16 *block = &space->block;
    const ptrdiff_t columns = mixture->columns;
    unsigned char *wrong = task->wrong + row * columns;
    double *chances = task->chances ? task->chances + row * columns : NULL;
    ptrdiff_t count = 0;
    for (ptrdiff_t c = 0; c < columns; c++) {
        block->own[c] = block->deviations[c * SIDE + side];
        block->row[c] = block->own[c] + task->means[c];
        block->bent[c] = block->gradients[c * SIDE + side];
        block->missing[c] = wrong[c] > 1;
        count += wrong[c] > 0;
    }
    if (count + 2 > MOST_WRONG) {
        leave_out(task, block, row, side);
        return;
    }
    search->row = block->row;
    search->deviation = block->own;
    search->gradient = block->bent;
    search->missing = block->missing;
    search->now = &space->patterns[0];
    search->next = &space->patterns[1];
    search->now->count = 0;
    for (ptrdiff_t c = 0; c < columns; c++)
        if (wrong[c])
            search->now->cells[search->now->count++] = c;
    for (ptrdiff_t c = 0; c < columns; c++)
        search->values[c].redrawn = -1.0;
    search->side = 1u << side;
    list_notable_cells(&space->slight, columns, search);
    find_pattern(mixture, search, block->squares[side], space->lower);
    if (search->now->score == UNLIKELY) { /* Omega has no factor there */
        clear_index(search);
        leave_out(task, block, row, side);
        return;
    }
    list_doubtful_cells(mixture, search);
    for (ptrdiff_t c = 0; c < columns; c++)
        wrong[c] = block->missing[c] ? 2 : 0;
    for (ptrdiff_t k = 0; k < search->now->count; k++)
        wrong[search->now->cells[k]] = block->missing[search->now->cells[k]] ? 2 : 1;
    memset(space->corrections, 0, (size_t)columns * sizeof(double));
    memset(space->chances, 0, (size_t)columns * sizeof(double));
    double slight = leave_slight_cells(search, &space->slight, columns, side);
    clear_index(search);
    group_doubted_cells(mixture, search);
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        if (is_slight(mixture, search, &search->candidates[c]))
            slight += fmax(search->candidates[c].gain, 0.0) +
                      log1p(exp(-fabs(search->candidates[c].gain)));
    condition(mixture, search, &space->combinations, space->lower);
    combine(mixture, search, &space->combinations);
    const double log_density = task->base - 0.5 * block->squares[side] + search->now->score +
                         space->combinations.log_sum + slight;
    weigh_row(task, row, log_density, &block->weights[side]);
    Expectation to = {block->weights[side], space->corrections, space->chances};
    add_joint(mixture, search, &space->combinations, totals, &to);
    add_slight(mixture, search, totals, &to);
    if (totals->lost)
        add_lost(task, search, &space->combinations, to.weight, space->scores, totals->lost);
    for (ptrdiff_t c = 0; c < columns; c++) {
        block->deviations[c * SIDE + side] -= space->corrections[c];
        if (chances)
            chances[c] = to.chances[c];
    }
}

/* Deviations of a block of rows from the mean; missing cells have none. */
static void load_block(const MixtureTask *task, const Mixture *mixture, Block16 *block,
                       ptrdiff_t first, ptrdiff_t count)
{
    for (ptrdiff_t s = 0; s < SIDE; s++) {
        const ptrdiff_t row = first + smaller(s, count - 1);
        const char *at = task->rows.data + row * task->rows.row_stride;
        block->weights[s] = s < count ? 1.0 : 0.0;
        for (ptrdiff_t c = 0; c < mixture->columns; c++, at += task->rows.column_stride) {
            const double value = task->rows.single ? (double)*(const float *)at : *(const double *)at;
            const int is_missing = isnan(value);
            block->deviations[c * SIDE + s] = is_missing ? 0.0 : value - task->means[c];
            if (is_missing && s < count)
                task->wrong[row * mixture->columns + c] = 2;
        }
    }
}

/* g = A' D^-1 A r for a block of rows, and r' g. */
static void find_gradients(const MixtureTask *task, Block16 *block)
{
    const Families *families = &task->families;
    memset(block->squares, 0, sizeof block->squares);
    memset(block->gradients, 0, (size_t)families->count * SIDE * sizeof *block->gradients);
    for (ptrdiff_t f = 0; f < families->count; f++) {
        double rest[SIDE], *own = block->gradients + f * SIDE;
        memcpy(rest, block->deviations + f * SIDE, sizeof rest);
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++) {
            const double slope = task->coefficients[e];
            const double *parent = block->deviations + families->parents[e] * SIDE;
            for (ptrdiff_t s = 0; s < SIDE; s++)
                rest[s] -= slope * parent[s];
        }
        const double precision = 1.0 / task->variances[f];
        for (ptrdiff_t s = 0; s < SIDE; s++) {
            block->squares[s] += rest[s] * rest[s] * precision;
            rest[s] *= precision;
            own[s] += rest[s];
        }
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++) {
            const double slope = task->coefficients[e];
            double *parent = block->gradients + families->parents[e] * SIDE;
            for (ptrdiff_t s = 0; s < SIDE; s++)
                parent[s] -= slope * rest[s];
        }
    }
}

/* Rows of a block with a cell that is far off, and rows with one that is missing or was wrong before. */
typedef struct {
    unsigned far, marked;
} RowsInDoubt;

static RowsInDoubt rows_in_doubt(const MixtureTask *task, const Mixture *mixture, const Block16 *block,
                                 ptrdiff_t first, ptrdiff_t count)
{
    int far[SIDE] = {0};
    RowsInDoubt found = {0, 0};
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        const double limit = mixture->thresholds[c] * mixture->diagonal[c];
        const double *gradients = block->gradients + c * SIDE;
        for (ptrdiff_t s = 0; s < SIDE; s++)
            far[s] |= gradients[s] * gradients[s] > limit;
    }
    for (ptrdiff_t s = 0; s < count; s++) {
        const unsigned char *wrong = task->wrong + (first + s) * mixture->columns;
        int any = 0;
        for (ptrdiff_t c = 0; !any && c < mixture->columns; c++)
            any = wrong[c];
        found.marked |= (unsigned)(any != 0) << s;
        found.far |= (unsigned)(far[s] != 0) << s;
    }
    return found;
}

/* The cells of a column that are slightly in doubt; their expected errors are taken off. */
static void expect_slight_column(const Mixture *mixture, const MixtureTask *task, MixtureSpace *space,
                                 ptrdiff_t first, ptrdiff_t c, SlightColumn *found)
{
    Block16 *block = &space->block;
    const SlightCells *cells = &space->slight;
    const SlightLaws *laws = &cells->laws[c];
    const unsigned char *rows = cells->rows + c * SIDE;
    const ptrdiff_t count = cells->counts[c];
    found->count = (count + LANES - 1) / LANES * LANES;
    for (ptrdiff_t i = 0; i < found->count; i++) {
        const ptrdiff_t at = c * SIDE + rows[i];
        const double odds = cells->odds[at], chance = odds / (1.0 + odds);
        const double own = i < count ? chance * cells->active[at] : 0.0;
        const double error = block->gradients[at] * laws->variance;
        found->errors[i] = error;
        found->apart[i] = block->deviations[at] + task->means[c] - mixture->by_column[c].centre;
        found->spread[i] = laws->variance + (1.0 - chance) * error * error;
        found->chances[i] = block->weights[rows[i]] * own;
        found->parts[i] = own > 0.0 ? found->chances[i] / cells->sums[c * SIDE + i] : 0.0;
        block->deviations[at] -= own * error;
        if (task->chances && own > 0.0)
            task->chances[(first + rows[i]) * mixture->columns + c] = own;
    }
}

/* Cells that are slightly in doubt, each by itself; `rows` are those that have no others. */
static void expect_slight_cells(const Mixture *mixture, const MixtureTask *task, MixtureSpace *space,
                                const MixtureTotals *totals, ptrdiff_t first, unsigned rows)
{
    Block16 *block = &space->block;
    const SlightCells *cells = &space->slight;
    double added[SIDE];
    SlightColumn column;
    if (rows)
        slight_densities(cells, mixture->columns, added);
    for (ptrdiff_t s = 0; s < SIDE; s++)
        if (rows >> s & 1)
            weigh_row(task, first + s, task->base - 0.5 * block->squares[s] + added[s], &block->weights[s]);
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        if (!cells->counts[c])
            continue;
        expect_slight_column(mixture, task, space, first, c, &column);
        if (space->search.diagonals[c] >= 0)
            totals->products[space->search.diagonals[c]] +=
                sum_products(column.chances, column.spread, column.count);
        count_slight(mixture, c, cells, &column, totals->law_sums, totals->column_sums + c * COLUMN_SUMS);
    }
}

/* Add the products of a block of rows to the totals, each row with its weight. */
static void add_row_products(const Mixture *mixture, Block16 *block, const MixtureTotals *totals)
{
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        double sum = 0.0;
        for (ptrdiff_t s = 0; s < SIDE; s++)
            sum += block->weighted[c * SIDE + s] = block->weights[s] * block->deviations[c * SIDE + s];
        totals->sums[c] += sum;
        for (int64_t n = mixture->starts[c]; n < mixture->starts[c + 1]; n++) {
            const double *a = block->weighted + c * SIDE;
            const double *b = block->deviations + mixture->neighbours[n] * SIDE;
            if (mixture->neighbours[n] > c)
                break;
            double four[4] = {0};
            for (ptrdiff_t s = 0; s < SIDE; s += 4)
                for (ptrdiff_t l = 0; l < 4; l++)
                    four[l] += a[s + l] * b[s + l];
            totals->products[n] += (four[0] + four[1]) + (four[2] + four[3]);
        }
    }
}

/* Space for the work, in one piece: the structure, and after it arrays of float64 and then others. */
static int open_mixture_space(MixtureSpace **space, const Families *families, ptrdiff_t entries)
{
    const ptrdiff_t columns = families->count, score_count = largest_size(families) + 2;
    const size_t width = (size_t)columns, candidates = (size_t)smaller(columns, MOST_CANDIDATES);
    const size_t table = candidates * MOST_WRONG;
    const size_t values = width * ((6 + TERMS) * SIDE + 5) + 2 * (size_t)score_count + 2 * table;
    *space = malloc(sizeof **space + values * sizeof(double) + width * sizeof(ValueLaws) +
                    width * sizeof(SlightLaws) + candidates * sizeof(Candidate) +
                    (size_t)entries * (sizeof(CoupledPair) + sizeof(FarPair)) + (2 * width + 1) * sizeof(ptrdiff_t) +
                    4 * width * sizeof(int16_t) + width * (2 + SIDE));
    if (!*space)
        return -1;
    double *next = (double *)(*space + 1);
    Block16 *block = &(*space)->block;
    RowSearch *search = &(*space)->search;
    block->deviations = next;
    block->gradients = next += columns * SIDE;
    block->weighted = next += columns * SIDE;
    block->row = next += columns * SIDE;
    block->own = next += columns;
    block->bent = next += columns;
    (*space)->corrections = next += columns;
    (*space)->chances = next += columns;
    (*space)->scores = next += columns;
    search->couplings = next += 2 * score_count;
    search->white = next += table;
    (*space)->slight.odds = next += table;
    (*space)->slight.sums = next += columns * SIDE;
    (*space)->slight.active = next += columns * SIDE;
    (*space)->slight.terms = next += columns * SIDE;
    search->values = (ValueLaws *)(next + columns * TERMS * SIDE);
    (*space)->slight.laws = (SlightLaws *)(search->values + columns);
    search->candidates = (Candidate *)((*space)->slight.laws + columns);
    (*space)->pairs.every = (CoupledPair *)(search->candidates + candidates);
    (*space)->pairs.far = (FarPair *)((*space)->pairs.every + entries);
    search->notable = (ptrdiff_t *)((*space)->pairs.far + entries);
    search->diagonals = search->notable + columns + 1;
    search->index = (int16_t *)(search->diagonals + columns);
    search->place = search->index + columns;
    (*space)->slight.open = (uint16_t *)(search->place + columns);
    (*space)->slight.notable = (*space)->slight.open + columns;
    block->missing = (unsigned char *)((*space)->slight.notable + columns);
    (*space)->slight.counts = block->missing + columns;
    (*space)->slight.rows = (*space)->slight.counts + columns;
    search->far_pairs = (*space)->pairs.far;
    search->open = (*space)->slight.open;
    search->candidate_count = 0;
    for (ptrdiff_t c = 0; c < columns; c++)
        search->index[c] = search->place[c] = NOWHERE;
    return 0;
}

/* No cell of the block is open to doubt. */
static void forget_slight_cells(const SlightCells *cells, ptrdiff_t columns)
{
    memset(cells->odds, 0, (size_t)(columns * SIDE) * sizeof(double));
    memset(cells->counts, 0, (size_t)columns);
    memset(cells->open, 0, (size_t)columns * sizeof *cells->open);
    memset(cells->notable, 0, (size_t)columns * sizeof *cells->notable);
}

/* Say of every cell of the block whether it counts by itself: those of these rows do. */
static void activate_rows(const SlightCells *cells, ptrdiff_t columns, unsigned rows)
{
    double active[SIDE];
    for (ptrdiff_t s = 0; s < SIDE; s++)
        active[s] = (double)(rows >> s & 1);
    for (ptrdiff_t c = 0; c < columns; c++)
        memcpy(cells->active + c * SIDE, active, sizeof active);
}

static void expect_rows(const Mixture *mixture, const MixtureTask *task, MixtureSpace *space,
                        const MixtureTotals *totals)
{
    Block16 *block = &space->block;
    const SlightCells *cells = &space->slight;
    const ptrdiff_t columns = mixture->columns;
    for (ptrdiff_t first = 0; first < task->rows.rows; first += SIDE) {
        const ptrdiff_t count = smaller(SIDE, task->rows.rows - first);
        load_block(task, mixture, block, first, count);
        find_gradients(task, block);
        const RowsInDoubt doubt = rows_in_doubt(task, mixture, block, first, count);
        unsigned serious = 0;
        if (doubt.far)
            serious = find_slight_odds(mixture, task->means, block->gradients, block->deviations, cells);
        else
            forget_slight_cells(cells, columns);
        const unsigned searched = doubt.marked | (doubt.far & serious), slight = doubt.far & ~searched;
        activate_rows(cells, columns, slight);
        space->search.far_pair_count = searched ? find_far_pairs(&space->pairs, block->gradients, cells, searched) : 0;
        for (ptrdiff_t s = 0; s < count; s++)
            if (searched >> s & 1)
                expect_doubtful_row(mixture, task, space, totals, first + s, s);
            else if (!(slight >> s & 1))
                weigh_row(task, first + s, task->base - 0.5 * block->squares[s], &block->weights[s]);
        if (doubt.far)
            expect_slight_cells(mixture, task, space, totals, first, slight);
        add_row_products(mixture, block, totals);
        for (ptrdiff_t s = 0; task->filled && s < count; s++)
            for (ptrdiff_t c = 0; c < columns; c++)
                task->filled[(first + s) * columns + c] = block->deviations[c * SIDE + s] + task->means[c];
    }
}

static ptrdiff_t mixture_moments(const Argument *given)
{
    const MixtureTask task = {given[0].matrix,     given[1].families,  given[2].values,
                              given[3].values,     given[4].values,    given[13].values,
                              given[12].real,      given[14].real,     given[15].values,
                              given[16].values,    given[17].values,   given[18].values,
                              given[19].values};
    const double *settings = given[11].values, *by_column = given[10].values;
    const ptrdiff_t columns = given[0].matrix.columns;
    if (given[9].length / 3 >= MOST_LAWS || task.families.count != columns)
        return REFUSED;
    Mixture mixture = {columns,         given[9].length / 3, given[6].values,     given[7].values,
                             given[5].values, given[8].values,     by_column,           by_column + columns,
                             given[9].values, by_column + 2 * columns, settings[0],     settings[1],
                             NULL};
    const MixtureTotals totals = {given[20].values, given[21].values, given[22].values,
                                  given[23].values, given[24].values};
    MixtureSpace *space;
    if (open_mixture_space(&space, &task.families, given[5].length) < 0)
        return NO_MEMORY;
    mixture.by_column = malloc(((size_t)columns + 1) * sizeof *mixture.by_column);
    if (!mixture.by_column) {
        free(space);
        return NO_MEMORY;
    }
    for (ptrdiff_t c = 0; c < columns; c++)
        open_laws(mixture.laws, mixture.law_count, mixture.parameters + c * PARAMETERS,
                  &mixture.by_column[c]);
    for (ptrdiff_t c = 0; c < columns; c++) {
        open_slight_laws(&mixture, c, &space->slight.laws[c]);
        space->search.diagonals[c] = (ptrdiff_t)entry_of(&mixture, c, c);
    }
    open_coupled_pairs(&mixture, &space->pairs);
    memset(totals.products, 0, (size_t)given[20].length * sizeof(double));
    memset(totals.sums, 0, (size_t)given[21].length * sizeof(double));
    memset(totals.law_sums, 0, (size_t)given[22].length * sizeof(double));
    memset(totals.column_sums, 0, (size_t)given[23].length * sizeof(double));
    if (totals.lost)
        memset(totals.lost, 0, (size_t)given[24].length * sizeof(double));
    expect_rows(&mixture, &task, space, &totals);
    free(mixture.by_column);
    free(space);
    return 0;
}
