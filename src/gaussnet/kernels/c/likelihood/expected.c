/* What a network expects of rows with missing cells, and the information that these take away. */
#include "core/columns.h"
#include "likelihood/holes.h"

/* Add the covariances of the missing cells of `rows` rows with the same holes to the packed products
 * of the families. */
static void add_covariances(const Holes *holes, ptrdiff_t rows, const ptrdiff_t *packed,
                            double *products)
{
    for (ptrdiff_t t = 0; t < holes->touched; t++) {
        double *own = products + packed[holes->families[t]];
        for (ptrdiff_t i = holes->starts[t]; i < holes->starts[t + 1]; i++)
            for (ptrdiff_t j = holes->starts[t]; j <= i; j++) {
                const Member *one = holes->members + i, *other = holes->members + j;
                const ptrdiff_t high = greater(one->slot, other->slot);
                own[triangle_length(high) + smaller(one->slot, other->slot)] +=
                    (double)rows * holes->covariance[one->cell * holes->count + other->cell];
            }
    }
}

/* Twice the negative log density of a row's known cells, given its residuals as filled in. */
static double deviance(const Equations *net, const Holes *holes, const double *residuals)
{
    const double known = (double)(net->columns - holes->count);
    double squares = 0.0;
    for (ptrdiff_t f = 0; f < net->families->count; f++)
        squares += residuals[f] * residuals[f] * net->inverses[f];
    return known * 1.8378770664093453 + net->log_variances + holes->log_det + squares;
}

/* What both kernels share: the network, the holes of the row in hand, and space for it. */
typedef struct {
    Equations net;
    Holes holes;
    const Matrix *x;
    double *row, *rest, *residuals, *pull; /* (columns) each; `row` as it came */
} HoledRows;

static int open_rows(HoledRows *work, const Argument *given)
{
    work->x = &given[0].matrix;
    const size_t columns = (size_t)work->x->columns + 1;
    memset(&work->holes, 0, sizeof work->holes);
    work->row = calloc(4 * columns, sizeof(double));
    const int failed = open_equations(&work->net, &given[1].families, work->x->columns,
                                      given[2].values, given[3].values, given[4].values);
    if (failed || !work->row)
        return failed ? failed : NO_MEMORY;
    work->rest = work->row + columns;
    work->residuals = work->rest + columns;
    work->pull = work->residuals + columns;
    return open_holes(&work->holes, &work->net);
}

static void close_rows(HoledRows *work)
{
    close_holes(&work->net, &work->holes);
    free(work->row);
}

static void read_row(const Matrix *x, ptrdiff_t r, double *row)
{
    const char *from = x->data + r * x->row_stride;
    for (ptrdiff_t c = 0; c < x->columns; c++, from += x->column_stride)
        row[c] = x->single ? (double)*(const float *)from : *(const double *)from;
}

/* Look at the holes of the row in hand, unless they are those of the row before, and fill it in. */
static int expect_row(HoledRows *work)
{
    if (!same_holes(&work->holes, work->row, work->net.columns) &&
        see_holes(&work->net, &work->holes, work->row) < 0)
        return NO_MEMORY;
    for (ptrdiff_t c = 0; c < work->net.columns; c++)
        work->rest[c] = work->holes.is_hole[c] ? 0.0 : work->row[c] - work->net.means[c];
    fill_row(&work->net, &work->holes, work->rest, work->residuals, work->pull);
    return 0;
}

static ptrdiff_t expected_rows(const Argument *given)
{
    double *filled = given[5].values, *likelihoods = given[6].values, *products = given[7].values;
    HoledRows work;
    int failed = open_rows(&work, given);
    const ptrdiff_t columns = work.x->columns, count = given[1].families.count;
    ptrdiff_t *packed = malloc((size_t)(count + 1) * sizeof *packed);
    failed = failed ? failed : packed ? 0 : NO_MEMORY;
    for (ptrdiff_t f = 0, at = 0; !failed && f < count; f++) {
        packed[f] = at;
        at += triangle_length(family_size(&given[1].families, f) + 1);
    }
    memset(products, 0, (size_t)given[7].length * sizeof *products);
    ptrdiff_t alike = 0; /* rows with the holes in hand */
    for (ptrdiff_t r = 0; !failed && r < work.x->rows; r++) {
        read_row(work.x, r, work.row);
        if (alike && !same_holes(&work.holes, work.row, columns)) {
            add_covariances(&work.holes, alike, packed, products);
            alike = 0;
        }
        failed = expect_row(&work);
        if (failed)
            break;
        alike++;
        likelihoods[r] = -0.5 * deviance(&work.net, &work.holes, work.residuals);
        double *out = filled + r * columns;
        for (ptrdiff_t c = 0; c < columns; c++)
            out[c] = work.holes.is_hole[c] ? work.net.means[c] + work.rest[c] : work.row[c];
    }
    if (alike && !failed)
        add_covariances(&work.holes, alike, packed, products);
    free(packed);
    close_rows(&work);
    return failed;
}

/* Information that missing cells take away. */

/* Covariances that the holes in hand leave, between a touched family's residual and the missing
 * cells (touched, count) and between the residuals of two touched families (touched, touched). */
typedef struct {
    double *with_cells, *with_residuals;
    ptrdiff_t *local;   /* missing cell of each slot of each touched family, or -1 */
    ptrdiff_t *offsets; /* where the slots of a touched family start */
    double *alpha, *beta; /* space for one family's scores */
    ptrdiff_t room_cells, room_residuals;
} Spread;

static int see_spread(const Equations *net, const Holes *holes, Spread *spread)
{
    const ptrdiff_t count = holes->count, touched = holes->touched;
    if (touched * count > spread->room_cells || touched * touched > spread->room_residuals) {
        spread->room_cells = greater(spread->room_cells, 2 * touched * count);
        spread->room_residuals = greater(spread->room_residuals, 2 * touched * touched);
        free(spread->with_cells);
        free(spread->with_residuals);
        spread->with_cells = malloc((size_t)spread->room_cells * sizeof(double));
        spread->with_residuals = malloc((size_t)spread->room_residuals * sizeof(double));
        if (!spread->with_cells || !spread->with_residuals)
            return NO_MEMORY;
    }
    if (touched * count > 0)
        memset(spread->with_cells, 0, (size_t)(touched * count) * sizeof(double));
    ptrdiff_t at = 0;
    for (ptrdiff_t t = 0; t < touched; t++) {
        double *own = spread->with_cells + t * count;
        spread->offsets[t] = at;
        const ptrdiff_t size = family_size(net->families, (ptrdiff_t)holes->families[t]);
        for (ptrdiff_t k = 0; k <= size; k++)
            spread->local[at + k] = -1;
        for (ptrdiff_t i = holes->starts[t]; i < holes->starts[t + 1]; i++) {
            const Member *member = holes->members + i;
            const double *row = holes->covariance + member->cell * count;
            spread->local[at + member->slot] = member->cell;
            for (ptrdiff_t b = holes->first[member->cell]; b < holes->last[member->cell]; b++)
                own[b] += member->weight * row[b];
        }
        at += size + 1;
        for (ptrdiff_t u = 0; u <= t; u++) {
            double sum = 0.0;
            for (ptrdiff_t i = holes->starts[u]; i < holes->starts[u + 1]; i++)
                sum += holes->members[i].weight * own[holes->members[i].cell];
            spread->with_residuals[t * touched + u] = spread->with_residuals[u * touched + t] = sum;
        }
    }
    return 0;
}

/* Value of score k of a family beside its residual: a parent, the constant or half the residual. */
INLINE double beside(const HoledRows *work, ptrdiff_t f, ptrdiff_t k, ptrdiff_t size)
{
    const int64_t *parents = work->net.families->parents + work->net.families->offsets[f];
    return k < size ? work->rest[parents[k]] : k == size ? 1.0 : 0.5 * work->residuals[f];
}

/* Covariance of what stands beside the residual in score k of touched family t with the residual of
 * touched family u. */
INLINE double beside_residual(const Holes *holes, const Spread *spread, ptrdiff_t t, ptrdiff_t k,
                              ptrdiff_t size, ptrdiff_t u)
{
    if (k > size)
        return 0.5 * spread->with_residuals[t * holes->touched + u];
    const ptrdiff_t cell = k < size ? spread->local[spread->offsets[t] + k] : -1;
    return cell < 0 ? 0.0 : spread->with_cells[u * holes->count + cell];
}

/* Covariance of what stands beside the residuals in score k of family t and score l of family u. */
INLINE double beside_both(const Holes *holes, const Spread *spread, ptrdiff_t t, ptrdiff_t k,
                          ptrdiff_t size, ptrdiff_t u, ptrdiff_t l, ptrdiff_t other_size)
{
    if (k > size)
        return 0.5 * beside_residual(holes, spread, u, l, other_size, t);
    const ptrdiff_t cell = k < size ? spread->local[spread->offsets[t] + k] : -1;
    if (cell < 0)
        return 0.0;
    if (l > other_size)
        return 0.5 * spread->with_cells[u * holes->count + cell];
    const ptrdiff_t other = l < other_size ? spread->local[spread->offsets[u] + l] : -1;
    if (other < holes->first[cell] || other >= holes->last[cell])
        return 0.0;
    return holes->covariance[cell * holes->count + other];
}

/* Add the covariances of the scores of touched families t and u. */
static void add_pair(HoledRows *work, const Spread *spread, ptrdiff_t t, ptrdiff_t u,
                     ptrdiff_t scores, double *information)
{
    const Holes *holes = &work->holes;
    const Families *families = work->net.families;
    const ptrdiff_t f = (ptrdiff_t)holes->families[t], g = (ptrdiff_t)holes->families[u];
    const ptrdiff_t size = family_size(families, f), other_size = family_size(families, g);
    const double both = spread->with_residuals[t * holes->touched + u];
    const double y = work->residuals[f], other_y = work->residuals[g];
    double *alpha = spread->alpha, *beta = spread->beta;
    for (ptrdiff_t l = 0; l < other_size + 2; l++) {
        const double z = beside(work, g, l, other_size);
        const double cross = beside_residual(holes, spread, u, l, other_size, t);
        alpha[l] = y * z + cross;
        beta[l] = other_y * cross + z * both;
    }
    double *out = information + (families->offsets[f] + 2 * f) * scores + families->offsets[g] + 2 * g;
    for (ptrdiff_t k = 0; k < size + 2; k++, out += scores) {
        const double z = beside(work, f, k, size);
        const double cross = beside_residual(holes, spread, t, k, size, u);
        for (ptrdiff_t l = 0; l < other_size + 2; l++)
            out[l] += cross * alpha[l] + z * beta[l];
        const int moves = k > size || (k < size && spread->local[spread->offsets[t] + k] >= 0);
        for (ptrdiff_t l = 0; moves && l < other_size + 2; l++)
            out[l] += (y * other_y + both) *
                      beside_both(holes, spread, t, k, size, u, l, other_size);
    }
}

static int open_spread(Spread *spread, const Families *families, ptrdiff_t edges)
{
    const size_t count = (size_t)families->count + 1;
    memset(spread, 0, sizeof *spread);
    spread->local = malloc((2 * count + (size_t)edges) * sizeof *spread->local);
    spread->alpha = malloc(2 * (size_t)(edges + 2) * sizeof(double));
    spread->offsets = spread->local + count + (size_t)edges;
    spread->beta = spread->alpha + edges + 2;
    return spread->local && spread->alpha ? 0 : NO_MEMORY;
}

static ptrdiff_t missing_information(const Argument *given)
{
    const Families *families = &given[1].families;
    const ptrdiff_t edges = families->count ? (ptrdiff_t)families->offsets[families->count] : 0;
    const ptrdiff_t scores = edges + 2 * families->count;
    double *information = given[6].values;
    HoledRows work;
    Spread spread;
    int failed = open_rows(&work, given);
    const int spread_failed = open_spread(&spread, families, edges);
    failed = failed ? failed : spread_failed;
    if (given[5].number != scores)
        failed = REFUSED;
    memset(information, 0, (size_t)given[6].length * sizeof *information);
    for (ptrdiff_t r = 0; !failed && r < work.x->rows; r++) {
        read_row(work.x, r, work.row);
        const int known = same_holes(&work.holes, work.row, work.x->columns);
        failed = expect_row(&work);
        if (!failed && !known)
            failed = see_spread(&work.net, &work.holes, &spread);
        for (ptrdiff_t t = 0; !failed && t < work.holes.touched; t++)
            for (ptrdiff_t u = 0; u < work.holes.touched; u++)
                if (work.holes.families[u] <= work.holes.families[t])
                    add_pair(&work, &spread, t, u, scores, information);
    }
    for (ptrdiff_t i = 0; !failed && i < scores; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            information[j * scores + i] = information[i * scores + j];
    free(spread.with_cells);
    free(spread.with_residuals);
    free(spread.local);
    free(spread.alpha);
    close_rows(&work);
    return failed;
}
