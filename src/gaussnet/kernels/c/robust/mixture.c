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
    const double value = search->row[cell], squares = size * size - variance;
    const double apart = value - mixture->parameters[cell * PARAMETERS + CENTRE];
    double shares[MOST_LAWS + 3], *own = totals->column_sums + cell * COLUMN_SUMS;
    log_law(mixture, cell, error, variance, search->deviation[cell], value, shares);
    for (ptrdiff_t k = 0; k < laws; k++) {
        const double share = weight * shares[k];
        totals->law_sums[3 * k] += share;
        totals->law_sums[3 * k + 1] += share * size / unit;
        totals->law_sums[3 * k + 2] += share * squares / (unit * unit);
    }
    const double shifted = weight * shares[laws], own_kind = weight * shares[laws + 2];
    own[WRONG] += weight;
    own[REDRAWN] += weight * shares[laws + 1];
    own[OWN] += own_kind;
    own[OWN_SUM] += own_kind * apart;
    own[OWN_SQUARES] += own_kind * apart * apart;
    own[SHIFTED] += shifted;
    own[SHIFTED_SUM] += shifted * size;
    own[SHIFTED_SQUARES] += shifted * squares;
}

/* The combinations of the cells in doubt, given those that are firmly wrong. */
typedef struct {
    ptrdiff_t count;
    double carried[MOST_WRONG * MOST_JOINT]; /* V_B Omega_BD: what an error in doubt takes off */
    double precision[MOST_JOINT * MOST_JOINT], gradient[MOST_JOINT];
    double mean[MOST_JOINT], covariance[MOST_JOINT * MOST_JOINT], chance[MOST_JOINT];
    double log_sum;
} Combinations;

/* One combination: the errors and variances of its cells. */
typedef struct {
    ptrdiff_t count, members[MOST_JOINT];
    double score, errors[MOST_JOINT], variance[MOST_JOINT * MOST_JOINT];
} Combination;

static void solve_combination(const Mixture *mixture, const RowSearch *search,
                              const Combinations *all, unsigned subset, Combination *one)
{
    double lower[MOST_JOINT * MOST_JOINT], inverse[MOST_JOINT * MOST_JOINT] = {0}, log_det = 0.0;
    one->count = 0;
    for (ptrdiff_t k = 0; k < all->count; k++)
        if (subset >> k & 1)
            one->members[one->count++] = k;
    const ptrdiff_t count = one->count;
    one->score = UNLIKELY;
    for (ptrdiff_t i = 0; i < count; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            double sum = all->precision[one->members[i] * MOST_JOINT + one->members[j]];
            for (ptrdiff_t k = 0; k < j; k++)
                sum -= lower[i * MOST_JOINT + k] * lower[j * MOST_JOINT + k];
            if (i == j && !(sum > 1e-14 * mixture->diagonal[search->doubted[one->members[i]]]))
                return;
            lower[i * MOST_JOINT + j] = i == j ? sqrt(sum) : sum / lower[j * MOST_JOINT + j];
            log_det += i == j ? log(sum) : 0.0;
        }
    for (ptrdiff_t j = 0; j < count; j++) {
        inverse[j * MOST_JOINT + j] = 1.0 / lower[j * MOST_JOINT + j];
        for (ptrdiff_t i = j + 1; i < count; i++) {
            double sum = 0.0;
            for (ptrdiff_t k = j; k < i; k++)
                sum -= lower[i * MOST_JOINT + k] * inverse[k * MOST_JOINT + j];
            inverse[i * MOST_JOINT + j] = sum / lower[i * MOST_JOINT + i];
        }
    }
    double score = -0.5 * log_det + (double)count * HALF_LOG_2PI;
    for (ptrdiff_t i = 0; i < count; i++) {
        one->errors[i] = 0.0;
        for (ptrdiff_t j = 0; j < count; j++) {
            double sum = 0.0;
            for (ptrdiff_t k = greater(i, j); k < count; k++)
                sum += inverse[k * MOST_JOINT + i] * inverse[k * MOST_JOINT + j];
            one->variance[i * MOST_JOINT + j] = sum;
            one->errors[i] += sum * all->gradient[one->members[j]];
        }
        score += 0.5 * one->errors[i] * all->gradient[one->members[i]];
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t cell = search->doubted[one->members[i]];
        score += mixture->odds[cell] + log_law(mixture, cell, one->errors[i],
                                               one->variance[i * MOST_JOINT + i],
                                               search->deviation[cell], search->row[cell], NULL);
    }
    one->score = score;
}

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
        couplings(mixture, now, cell, raw, white[d]);
        all->gradient[d] = search->gradient[cell];
        for (ptrdiff_t k = 0; k < kept; k++)
            all->gradient[d] -= raw[k] * now->errors[k];
        for (ptrdiff_t k = 0; k < kept; k++) {
            double sum = 0.0;
            for (ptrdiff_t i = k; i < kept; i++)
                sum += now->inverse[i * MOST_WRONG + k] * white[d][i];
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

/* Weigh all combinations of the cells in doubt. */
static void combine(const Mixture *mixture, RowSearch *search, Combinations *all, Combination *each)
{
    const unsigned subsets = 1u << all->count;
    double most = UNLIKELY, total = 0.0, counted = 0.0;
    for (unsigned s = 0; s < subsets; s++) {
        solve_combination(mixture, search, all, s, &each[s]);
        most = fmax(most, each[s].score);
    }
    for (unsigned s = 0; s < subsets; s++) {
        const double weight = exp(each[s].score - most);
        total += weight;
        counted += weight > 1e-6 ? weight : 0.0;
    }
    all->log_sum = most + log(total);
    memset(all->mean, 0, sizeof all->mean);
    memset(all->chance, 0, sizeof all->chance);
    memset(all->covariance, 0, sizeof all->covariance);
    for (unsigned s = 0; s < subsets; s++) {
        Combination *one = &each[s];
        double weight = exp(one->score - most);
        one->score = weight = weight > 1e-6 ? weight / counted : 0.0; /* from here on its chance */
        for (ptrdiff_t i = 0; weight > 0.0 && i < one->count; i++) {
            const ptrdiff_t a = one->members[i];
            all->mean[a] += weight * one->errors[i];
            all->chance[a] += weight;
        }
    }
    for (unsigned s = 0; s < subsets; s++) { /* about the mean: errors may be huge */
        const Combination *one = &each[s];
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

INLINE void add_product(const Mixture *mixture, const MixtureTotals *totals, ptrdiff_t a, ptrdiff_t b,
                        double value)
{
    for (int64_t n = mixture->starts[a]; n < mixture->starts[a + 1]; n++)
        if (mixture->neighbours[n] == b)
            totals->products[n] += value;
}

/* Errors of firm and doubted cells: means, chances, and variances added to the products. */
static void add_joint(const Mixture *mixture, const RowSearch *search, const Combinations *all,
                      const Combination *each, const MixtureTotals *totals, Expectation *to)
{
    const Pattern *now = search->now;
    const double weight = to->weight;
    for (ptrdiff_t k = 0; k < now->count; k++) {
        const ptrdiff_t cell = now->cells[k];
        double spread[MOST_JOINT] = {0};
        to->corrections[cell] = now->errors[k];
        to->chances[cell] = 1.0;
        for (ptrdiff_t d = 0; d < all->count; d++) {
            to->corrections[cell] -= all->carried[k * MOST_JOINT + d] * all->mean[d];
            for (ptrdiff_t c = 0; c < all->count; c++)
                spread[d] += all->carried[k * MOST_JOINT + c] * all->covariance[c * MOST_JOINT + d];
            add_product(mixture, totals, cell, search->doubted[d], -weight * spread[d]);
            add_product(mixture, totals, search->doubted[d], cell, -weight * spread[d]);
        }
        for (ptrdiff_t j = 0; j < now->count; j++) {
            double sum = now->variance[k * MOST_WRONG + j];
            for (ptrdiff_t d = 0; d < all->count; d++)
                sum += spread[d] * all->carried[j * MOST_JOINT + d];
            add_product(mixture, totals, cell, now->cells[j], weight * sum);
        }
        count_wrong(mixture, search, totals, cell, to->corrections[cell],
                    now->variance[k * MOST_WRONG + k], weight);
    }
    for (ptrdiff_t d = 0; d < all->count; d++) {
        to->corrections[search->doubted[d]] = all->mean[d];
        to->chances[search->doubted[d]] = all->chance[d];
        for (ptrdiff_t c = 0; c < all->count; c++)
            add_product(mixture, totals, search->doubted[d], search->doubted[c],
                        weight * all->covariance[d * MOST_JOINT + c]);
    }
    for (unsigned s = 0; s < 1u << all->count; s++)
        for (ptrdiff_t i = 0; each[s].score > 0.0 && i < each[s].count; i++)
            count_wrong(mixture, search, totals, search->doubted[each[s].members[i]],
                        each[s].errors[i], each[s].variance[i * MOST_JOINT + i],
                        weight * each[s].score);
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
        add_product(mixture, totals, cell, cell,
                    to->weight * chance * (variance + (1.0 - chance) * error * error));
        count_wrong(mixture, search, totals, cell, error, variance, to->weight * chance);
    }
}

/* Space for the work on a block of rows, all of it in one piece. */
typedef struct {
    Block16 block;
    RowSearch search;
    Pattern patterns[2];
    Combinations combinations;
    Combination each[1 << MOST_JOINT];
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
    if (count + 2 > MOST_WRONG) { /* wrong as a whole */
        task->densities[row] = task->foreign ? task->foreign[row] + task->foreign_odds : 0.0;
        task->foreign_chances[row] = 1.0;
        block->weights[side] = 0.0;
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
    climb(mixture, search, space->lower);
    list_candidates(mixture, search);
    list_doubtful_cells(mixture, search);
    for (ptrdiff_t c = 0; c < columns; c++)
        wrong[c] = block->missing[c] ? 2 : 0;
    for (ptrdiff_t k = 0; k < search->now->count; k++)
        wrong[search->now->cells[k]] = block->missing[search->now->cells[k]] ? 2 : 1;
    memset(space->corrections, 0, (size_t)columns * sizeof(double));
    memset(space->chances, 0, (size_t)columns * sizeof(double));
    condition(mixture, search, &space->combinations, space->lower);
    combine(mixture, search, &space->combinations, space->each);
    double log_density = task->base - 0.5 * block->squares[side] + search->now->score +
                         space->combinations.log_sum;
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        if (is_slight(mixture, search, &search->candidates[c]))
            log_density += log1p(exp(search->candidates[c].gain));
    weigh_row(task, row, log_density, &block->weights[side]);
    Expectation to = {block->weights[side], space->corrections, space->chances};
    add_joint(mixture, search, &space->combinations, space->each, totals, &to);
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

static int open_mixture_space(MixtureSpace **space, ptrdiff_t columns)
{
    const size_t values = (size_t)columns * (3 * SIDE + 5) + (size_t)columns;
    *space = malloc(sizeof **space + values * sizeof(double));
    if (!*space)
        return -1;
    double *next = (double *)(*space + 1);
    Block16 *block = &(*space)->block;
    block->deviations = next;
    block->gradients = next += columns * SIDE;
    block->weighted = next += columns * SIDE;
    block->row = next += columns * SIDE;
    block->own = next += columns;
    block->bent = next += columns;
    (*space)->corrections = next += columns;
    (*space)->chances = next += columns;
    block->missing = (unsigned char *)(next + columns);
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
    const Mixture mixture = {columns,         given[9].length / 3, given[6].values,     given[7].values,
                             given[5].values, given[8].values,     by_column,           by_column + columns,
                             given[9].values, by_column + 2 * columns, settings[0],     settings[1]};
    const MixtureTotals totals = {given[20].values, given[21].values, given[22].values, given[23].values};
    MixtureSpace *space;
    if (mixture.law_count > MOST_LAWS || task.families.count != mixture.columns)
        return REFUSED;
    if (open_mixture_space(&space, mixture.columns) < 0)
        return NO_MEMORY;
    memset(totals.products, 0, (size_t)given[20].length * sizeof(double));
    memset(totals.sums, 0, (size_t)given[21].length * sizeof(double));
    memset(totals.law_sums, 0, (size_t)given[22].length * sizeof(double));
    memset(totals.column_sums, 0, (size_t)given[23].length * sizeof(double));
    expect_rows(&mixture, &task, space, &totals);
    free(space);
    return 0;
}
