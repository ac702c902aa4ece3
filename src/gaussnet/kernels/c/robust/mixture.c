/* The expectation step of the mixture for wrong cells: what the rows say of the network if each
 * cell is wrong with some chance, missing cells are unknown, and whole rows may be foreign. */
#include "robust/patterns.h"

/* Rows that are looked at side by side. */
#define SIDE 16

/* What all rows add up to. */
typedef struct {
    double *products, *sums, *law_sums, *column_sums;
} MixtureTotals;

enum { WRONG, REDRAWN, OWN, OWN_SUM, OWN_SQUARES, SHIFTED, SHIFTED_SUM, SHIFTED_SQUARES, COLUMN_SUMS };

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

/* One combination of the cells in doubt: which are wrong, their errors and variances. */
typedef struct {
    ptrdiff_t count, members[MOST_JOINT];
    double score, errors[MOST_JOINT], variance[MOST_JOINT * MOST_JOINT];
} Combination;

/* The combinations of the cells in doubt, given those that are firmly wrong. */
typedef struct {
    ptrdiff_t count, found;
    double carried[MOST_WRONG * MOST_JOINT]; /* V_B Omega_BD: what an error in doubt takes off */
    double precision[MOST_JOINT * MOST_JOINT], gradient[MOST_JOINT];
    double mean[MOST_JOINT], covariance[MOST_JOINT * MOST_JOINT], chance[MOST_JOINT];
    double log_sum;
    Combination each[1 << MOST_JOINT];
} Combinations;

/* Take the doubted cells out of the pattern, and say how they hang on those that stay. */
static void condition(const Mixture *mixture, RowSearch *search, Combinations *all, double *lower)
{
    Pattern *now = search->now;
    double raw[MOST_WRONG], white[MOST_JOINT][MOST_WRONG];
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
        solve_pattern(mixture, search, now, lower);
    }
    for (ptrdiff_t d = 0; d < all->count; d++) {
        const ptrdiff_t cell = search->doubted[d];
        all->gradient[d] = search->gradient[cell];
        memset(white[d], 0, (size_t)kept * sizeof(double));
        for (ptrdiff_t k = 0; k < kept; k++) {
            raw[k] = coupling(mixture, cell, now->cells[k]);
            for (ptrdiff_t i = k; raw[k] != 0.0 && i < kept; i++)
                white[d][i] += now->inverse[k * MOST_WRONG + i] * raw[k];
        }
        for (ptrdiff_t k = 0; k < kept; k++) {
            double sum = 0.0;
            all->gradient[d] -= white[d][k] * now->white[k];
            for (ptrdiff_t i = k; i < kept; i++)
                sum += now->inverse[k * MOST_WRONG + i] * white[d][i];
            all->carried[k * MOST_JOINT + d] = sum;
        }
        for (ptrdiff_t other = 0; other <= d; other++) {
            double sum = coupling(mixture, cell, search->doubted[other]);
            for (ptrdiff_t k = 0; k < kept; k++)
                sum -= white[d][k] * white[other][k];
            all->precision[d * MOST_JOINT + other] = all->precision[other * MOST_JOINT + d] = sum;
        }
    }
}

/* The precision of the cells in doubt with their gradients as a last column, swept on some cells:
 * among these it is minus the variance of their errors, and in the last column the errors. */
#define SWEPT (MOST_JOINT + 1)
typedef struct {
    double entries[MOST_JOINT * SWEPT], score; /* score: halves of the squares and log pivots */
    ptrdiff_t count, members[MOST_JOINT];
} Swept;

/* Sweep on one more cell; 0 if its precision has vanished. */
static int sweep(const Mixture *mixture, const RowSearch *search, const Combinations *all,
                 const Swept *from, ptrdiff_t cell, Swept *to)
{
    const double *pivot_row = from->entries + cell * SWEPT, pivot = pivot_row[cell];
    const double inverse = 1.0 / pivot;
    if (!(pivot > 1e-14 * mixture->diagonal[search->doubted[cell]]))
        return 0;
    for (ptrdiff_t i = 0; i < all->count; i++) {
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
    to->count = from->count + 1;
    memcpy(to->members, from->members, sizeof to->members);
    to->members[from->count] = cell;
    return 1;
}

/* Write down the combination of the cells that were swept on. */
static void note_combination(const Mixture *mixture, const RowSearch *search, Combinations *all,
                             const Swept *swept)
{
    Combination *one = &all->each[all->found++];
    one->count = swept->count;
    one->score = swept->score;
    for (ptrdiff_t i = 0; i < swept->count; i++) {
        const double *own = swept->entries + swept->members[i] * SWEPT;
        one->members[i] = swept->members[i];
        one->errors[i] = own[MOST_JOINT];
        for (ptrdiff_t j = 0; j < swept->count; j++)
            one->variance[i * MOST_JOINT + j] = -own[swept->members[j]];
        one->score += log_wrong(mixture, search, search->doubted[swept->members[i]], one->errors[i],
                                one->variance[i * MOST_JOINT + i]);
    }
}

/* All combinations that hold the cells swept on and some of the later ones. */
static void combine_from(const Mixture *mixture, const RowSearch *search, Combinations *all,
                         const Swept *from, ptrdiff_t first)
{
    Swept next;
    note_combination(mixture, search, all, from);
    for (ptrdiff_t cell = first; cell < all->count; cell++)
        if (sweep(mixture, search, all, from, cell, &next))
            combine_from(mixture, search, all, &next, cell + 1);
}

/* Weigh all combinations of the cells in doubt. */
static void combine(const Mixture *mixture, const RowSearch *search, Combinations *all)
{
    Swept none = {.score = 0.0};
    double most = UNLIKELY, total = 0.0, counted = 0.0;
    for (ptrdiff_t i = 0; i < all->count; i++) {
        memcpy(none.entries + i * SWEPT, all->precision + i * MOST_JOINT,
               (size_t)all->count * sizeof(double));
        none.entries[i * SWEPT + MOST_JOINT] = all->gradient[i];
    }
    all->found = 0;
    combine_from(mixture, search, all, &none, 0);
    for (ptrdiff_t s = 0; s < all->found; s++)
        most = fmax(most, all->each[s].score);
    for (ptrdiff_t s = 0; s < all->found; s++) {
        const double weight = exp(all->each[s].score - most);
        total += weight;
        counted += all->each[s].score = weight > 1e-6 ? weight : 0.0;
    }
    all->log_sum = most + log(total);
    memset(all->mean, 0, sizeof all->mean);
    memset(all->chance, 0, sizeof all->chance);
    memset(all->covariance, 0, sizeof all->covariance);
    for (ptrdiff_t s = 0; s < all->found; s++) {
        Combination *one = &all->each[s];
        const double weight = one->score /= counted; /* from here on its chance */
        for (ptrdiff_t i = 0; weight > 0.0 && i < one->count; i++) {
            all->mean[one->members[i]] += weight * one->errors[i];
            all->chance[one->members[i]] += weight;
        }
    }
    for (ptrdiff_t s = 0; s < all->found; s++) { /* about the mean: errors may be huge */
        const Combination *one = &all->each[s];
        double centred[MOST_JOINT];
        if (one->score == 0.0)
            continue;
        for (ptrdiff_t a = 0; a < all->count; a++)
            centred[a] = -all->mean[a];
        for (ptrdiff_t i = 0; i < one->count; i++)
            centred[one->members[i]] += one->errors[i];
        for (ptrdiff_t a = 0; a < all->count; a++)
            for (ptrdiff_t b = 0; b < all->count; b++)
                all->covariance[a * MOST_JOINT + b] += one->score * centred[a] * centred[b];
        for (ptrdiff_t i = 0; i < one->count; i++)
            for (ptrdiff_t j = 0; j < one->count; j++)
                all->covariance[one->members[i] * MOST_JOINT + one->members[j]] +=
                    one->score * one->variance[i * MOST_JOINT + j];
    }
}

/* What is expected of one row in doubt. */
typedef struct {
    double weight;
    double *corrections, *chances; /* (columns,): expected errors, chances to be wrong */
} Expectation;

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

/* Covariances of the errors of firm cells (first) and doubted ones, added to the products. */
static void add_error_covariances(const Mixture *mixture, RowSearch *search, const Combinations *all,
                            const MixtureTotals *totals, double weight)
{
    const Pattern *now = search->now;
    const ptrdiff_t firm = now->count;
    double values[MOST_WRONG + MOST_JOINT];
    for (ptrdiff_t k = 0; k < firm; k++)
        search->index[now->cells[k]] = (int16_t)k;
    for (ptrdiff_t d = 0; d < all->count; d++)
        search->index[search->doubted[d]] = (int16_t)(firm + d);
    for (ptrdiff_t k = 0; k < firm; k++) {
        double *spread = values + firm;
        for (ptrdiff_t d = 0; d < all->count; d++) {
            spread[d] = 0.0;
            for (ptrdiff_t c = 0; c < all->count; c++)
                spread[d] -= all->carried[k * MOST_JOINT + c] * all->covariance[c * MOST_JOINT + d];
        }
        for (ptrdiff_t j = 0; j < firm; j++) {
            values[j] = now->variance[k * MOST_WRONG + j];
            for (ptrdiff_t d = 0; d < all->count; d++)
                values[j] -= spread[d] * all->carried[j * MOST_JOINT + d];
        }
        add_cell_products(mixture, search, totals, now->cells[k], values, weight);
    }
    for (ptrdiff_t d = 0; d < all->count; d++) {
        for (ptrdiff_t j = 0; j < firm; j++) {
            values[j] = 0.0;
            for (ptrdiff_t c = 0; c < all->count; c++)
                values[j] -= all->carried[j * MOST_JOINT + c] * all->covariance[c * MOST_JOINT + d];
        }
        memcpy(values + firm, all->covariance + d * MOST_JOINT, (size_t)all->count * sizeof(double));
        add_cell_products(mixture, search, totals, search->doubted[d], values, weight);
    }
    for (ptrdiff_t k = 0; k < firm; k++)
        search->index[now->cells[k]] = NOWHERE;
    for (ptrdiff_t d = 0; d < all->count; d++)
        search->index[search->doubted[d]] = NOWHERE;
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
            to->corrections[cell] -= all->carried[k * MOST_JOINT + d] * all->mean[d];
        count_wrong(mixture, search, totals, cell, to->corrections[cell],
                    now->variance[k * MOST_WRONG + k], weight);
    }
    for (ptrdiff_t d = 0; d < all->count; d++) {
        to->corrections[search->doubted[d]] = all->mean[d];
        to->chances[search->doubted[d]] = all->chance[d];
    }
    add_error_covariances(mixture, search, all, totals, weight);
    for (ptrdiff_t s = 0; s < all->found; s++)
        for (ptrdiff_t i = 0; all->each[s].score > 0.0 && i < all->each[s].count; i++) {
            const Combination *one = &all->each[s];
            count_wrong(mixture, search, totals, search->doubted[one->members[i]], one->errors[i],
                        one->variance[i * MOST_JOINT + i], weight * one->score);
        }
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
    double *corrections, *chances;
} MixtureSpace;

/* The arguments of the kernel, by name. */
typedef struct {
    Matrix rows;
    Families families;
    const double *coefficients, *variances, *means, *foreign;
    double base, foreign_odds;
    unsigned char *wrong;
    double *densities, *foreign_chances, *filled, *chances;
} MixtureTask;

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

/* A row that is wrong as a whole has no weight. */
static void leave_out(const MixtureTask *task, Block16 *block, ptrdiff_t row, ptrdiff_t side)
{
    task->densities[row] = task->foreign ? task->foreign[row] + task->foreign_odds : 0.0;
    task->foreign_chances[row] = 1.0;
    block->weights[side] = 0.0;
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
    climb(mixture, search, space->lower);
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
    double slight = 0.0;
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        if (is_slight(mixture, search, &search->candidates[c]))
            slight += fmax(search->candidates[c].gain, 0.0) +
                      log1p(exp(-fabs(search->candidates[c].gain)));
    clear_index(search);
    condition(mixture, search, &space->combinations, space->lower);
    combine(mixture, search, &space->combinations);
    const double log_density = task->base - 0.5 * block->squares[side] + search->now->score +
                         space->combinations.log_sum + slight;
    weigh_row(task, row, log_density, &block->weights[side]);
    Expectation to = {block->weights[side], space->corrections, space->chances};
    add_joint(mixture, search, &space->combinations, totals, &to);
    add_slight(mixture, search, totals, &to);
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

/* Which rows of a block have a cell that is far off, missing, or was wrong before. */
static unsigned rows_in_doubt(const MixtureTask *task, const Mixture *mixture, const Block16 *block,
                              ptrdiff_t first, ptrdiff_t count)
{
    int far[SIDE] = {0};
    unsigned found = 0;
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        const double limit = mixture->thresholds[c] * mixture->diagonal[c];
        const double *gradients = block->gradients + c * SIDE;
        for (ptrdiff_t s = 0; s < SIDE; s++)
            far[s] |= gradients[s] * gradients[s] > limit;
    }
    for (ptrdiff_t s = 0; s < count; s++) {
        const unsigned char *wrong = task->wrong + (first + s) * mixture->columns;
        int any = far[s];
        for (ptrdiff_t c = 0; !any && c < mixture->columns; c++)
            any = wrong[c];
        found |= (unsigned)(any != 0) << s;
    }
    return found;
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
static int open_mixture_space(MixtureSpace **space, ptrdiff_t columns)
{
    const size_t width = (size_t)columns, table = (size_t)MOST_CANDIDATES * MOST_WRONG;
    const size_t values = width * (3 * SIDE + 5) + 2 * table;
    *space = malloc(sizeof **space + values * sizeof(double) + width * sizeof(ValueLaws) +
                    (width + 1) * sizeof(ptrdiff_t) + width * sizeof(int16_t) + width);
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
    search->couplings = next += columns;
    search->white = next += table;
    search->values = (ValueLaws *)(next + table);
    search->far = (ptrdiff_t *)(search->values + columns);
    search->index = (int16_t *)(search->far + columns + 1);
    block->missing = (unsigned char *)(search->index + columns);
    search->candidate_count = 0;
    for (ptrdiff_t c = 0; c < columns; c++)
        search->index[c] = NOWHERE;
    return 0;
}

static void expect_rows(const Mixture *mixture, const MixtureTask *task, MixtureSpace *space,
                        const MixtureTotals *totals)
{
    Block16 *block = &space->block;
    for (ptrdiff_t first = 0; first < task->rows.rows; first += SIDE) {
        const ptrdiff_t count = smaller(SIDE, task->rows.rows - first);
        load_block(task, mixture, block, first, count);
        find_gradients(task, block);
        const unsigned doubtful = rows_in_doubt(task, mixture, block, first, count);
        for (ptrdiff_t s = 0; s < count; s++)
            if (doubtful >> s & 1)
                expect_doubtful_row(mixture, task, space, totals, first + s, s);
            else
                weigh_row(task, first + s, task->base - 0.5 * block->squares[s], &block->weights[s]);
        add_row_products(mixture, block, totals);
        for (ptrdiff_t s = 0; task->filled && s < count; s++)
            for (ptrdiff_t c = 0; c < mixture->columns; c++)
                task->filled[(first + s) * mixture->columns + c] =
                    block->deviations[c * SIDE + s] + task->means[c];
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
    Mixture mixture = {columns,         given[9].length / 3, given[6].values,     given[7].values,
                             given[5].values, given[8].values,     by_column,           by_column + columns,
                             given[9].values, by_column + 2 * columns, settings[0],     settings[1],
                             NULL};
    const MixtureTotals totals = {given[20].values, given[21].values, given[22].values, given[23].values};
    MixtureSpace *space;
    if (mixture.law_count >= MOST_LAWS || task.families.count != mixture.columns)
        return REFUSED;
    if (open_mixture_space(&space, mixture.columns) < 0)
        return NO_MEMORY;
    mixture.by_column = malloc(((size_t)columns + 1) * sizeof *mixture.by_column);
    if (!mixture.by_column) {
        free(space);
        return NO_MEMORY;
    }
    for (ptrdiff_t c = 0; c < columns; c++)
        open_laws(mixture.laws, mixture.law_count, mixture.parameters + c * PARAMETERS,
                  &mixture.by_column[c]);
    memset(totals.products, 0, (size_t)given[20].length * sizeof(double));
    memset(totals.sums, 0, (size_t)given[21].length * sizeof(double));
    memset(totals.law_sums, 0, (size_t)given[22].length * sizeof(double));
    memset(totals.column_sums, 0, (size_t)given[23].length * sizeof(double));
    expect_rows(&mixture, &task, space, &totals);
    free(mixture.by_column);
    free(space);
    return 0;
}
