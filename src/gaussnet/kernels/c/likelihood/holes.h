/* Rows with missing cells: which families they touch, and the law of the cells given the rest.
 *
 * Only families with a missing cell matter. A family's residual r is a combination of its cells; so
 * the precision of the missing cells M of a row is the sum of c c' / s over these families, c being
 * the part of that combination that lies in M. Cells that no chain of such families joins are
 * independent: they are factored apart. */
#ifndef GAUSSNET_HOLES_H
#define GAUSSNET_HOLES_H

#include "kernels.h"

/* A network by column: who has which parents and children, with what coefficients. */
typedef struct {
    const Families *families;
    ptrdiff_t columns;
    const double *coefficients, *means, *variances;
    int64_t *family_of;    /* the family whose child is this column, (columns) */
    int64_t *child_starts; /* where the edges out of each column start, (columns + 1) */
    int64_t *child_edges;  /* edges in the order of their parents, (edges) */
    int64_t *edge_family;  /* (edges) */
    double *inverses;      /* of the variances, (families) */
    double log_variances;  /* sum of the variances' logarithms */
} Equations;

/* One missing cell of a family: its number among the missing cells, its place among the family's
 * columns, and its coefficient in the family's residual. */
typedef struct {
    ptrdiff_t cell, slot;
    double weight;
} Member;

/* The holes of a row, and what follows from them alone: rows with the same holes share it. */
typedef struct {
    ptrdiff_t count;      /* missing cells */
    int64_t *cells;       /* their columns, those of one block after the other */
    ptrdiff_t *first;     /* where the block of each missing cell starts, (count) */
    ptrdiff_t *last;      /* and ends */
    ptrdiff_t touched;    /* families with a missing cell */
    int64_t *families;    /* which they are */
    ptrdiff_t *starts;    /* where their members start, (touched + 1) */
    Member *members;
    double *factor;       /* R and D of the precision R' D R, (count, count), in blocks */
    double *covariance;   /* its inverse V, in blocks */
    double log_det;       /* of the precision */
    unsigned char *is_hole; /* (columns) */
    ptrdiff_t *scratch;   /* (families + columns), zero for the families between calls */
    ptrdiff_t room;       /* cells that factor and covariance have room for */
    void *memory;
} Holes;

static int open_equations(Equations *net, const Families *families, ptrdiff_t columns,
                          const double *coefficients, const double *means, const double *variances)
{
    const ptrdiff_t count = families->count, edges = count ? (ptrdiff_t)families->offsets[count] : 0;
    net->families = families;
    net->columns = columns;
    net->coefficients = coefficients;
    net->means = means;
    net->variances = variances;
    net->log_variances = 0.0;
    net->family_of = malloc((size_t)(2 * columns + 2 * edges + 2) * sizeof *net->family_of);
    net->inverses = malloc((size_t)(count + 1) * sizeof *net->inverses);
    if (!net->family_of || !net->inverses)
        return NO_MEMORY;
    net->child_starts = net->family_of + columns;
    net->child_edges = net->child_starts + columns + 1;
    net->edge_family = net->child_edges + edges;
    for (ptrdiff_t c = 0; c < columns; c++)
        net->family_of[c] = -1;
    memset(net->child_starts, 0, (size_t)(columns + 1) * sizeof *net->child_starts);
    for (ptrdiff_t f = 0; f < count; f++) {
        net->family_of[families->children[f]] = f;
        net->inverses[f] = 1.0 / variances[f];
        net->log_variances += log(variances[f]);
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++) {
            net->edge_family[e] = f;
            net->child_starts[families->parents[e] + 1]++;
        }
    }
    for (ptrdiff_t c = 0; c < columns; c++) {
        net->child_starts[c + 1] += net->child_starts[c];
        if (net->family_of[c] < 0)
            return REFUSED;
    }
    for (int64_t e = edges - 1; e >= 0; e--) /* each start moves back from the end of its run */
        net->child_edges[--net->child_starts[families->parents[e] + 1]] = e;
    for (ptrdiff_t c = 0; c < columns; c++)
        net->child_starts[c] = net->child_starts[c + 1];
    net->child_starts[columns] = edges;
    return count == columns ? 0 : REFUSED;
}

static int open_holes(Holes *holes, const Equations *net)
{
    const size_t columns = (size_t)net->columns + 1;
    const size_t edges = columns > 1 ? (size_t)net->families->offsets[net->families->count] : 0;
    memset(holes, 0, sizeof *holes);
    holes->members = malloc((columns + edges) * sizeof *holes->members);
    holes->memory = calloc(8 * columns, sizeof(int64_t));
    holes->is_hole = calloc(columns, 1);
    if (!holes->members || !holes->memory || !holes->is_hole)
        return NO_MEMORY;
    holes->cells = holes->memory;
    holes->families = holes->cells + columns;
    holes->first = (ptrdiff_t *)(holes->families + columns);
    holes->last = holes->first + columns;
    holes->starts = holes->last + columns;
    holes->scratch = holes->starts + columns;
    holes->count = -1; /* no row has been seen */
    return 0;
}

static void close_holes(Equations *net, Holes *holes)
{
    free(net->family_of);
    free(net->inverses);
    free(holes->members);
    free(holes->memory);
    free(holes->is_hole);
    free(holes->factor);
    free(holes->covariance);
}

/* Whether a row has the same holes as the one before it. */
static int same_holes(const Holes *holes, const double *row, ptrdiff_t columns)
{
    if (holes->count < 0)
        return 0;
    int differ = 0;
    for (ptrdiff_t c = 0; c < columns; c++)
        differ |= (row[c] != row[c]) ^ holes->is_hole[c];
    return !differ;
}

/* Find the top of a cell's block, halving the way on it. */
static ptrdiff_t top_of(ptrdiff_t *above, ptrdiff_t cell)
{
    while (above[cell] != cell) {
        above[cell] = above[above[cell]];
        cell = above[cell];
    }
    return cell;
}

static void join(ptrdiff_t *above, ptrdiff_t one, ptrdiff_t other)
{
    one = top_of(above, one);
    other = top_of(above, other);
    if (one < other)
        above[other] = one;
    else
        above[one] = other;
}

/* Order the missing columns so that those of one block stand together, blocks by their first. */
static void order_cells(const Equations *net, Holes *holes)
{
    const Families *families = net->families;
    ptrdiff_t *above = holes->first, *number = holes->scratch + net->columns;
    ptrdiff_t *seen = holes->scratch; /* 1 + a missing cell of each family */
    const ptrdiff_t count = holes->count;
    int64_t *found = holes->families; /* free until families are listed */
    for (ptrdiff_t a = 0; a < count; a++)
        above[a] = a;
    for (ptrdiff_t a = 0; a < count; a++) {
        const int64_t c = holes->cells[a];
        for (int64_t k = net->child_starts[c] - 1; k < net->child_starts[c + 1]; k++) {
            const int64_t f = k < net->child_starts[c] ? net->family_of[c]
                                                       : net->edge_family[net->child_edges[k]];
            if (seen[f])
                join(above, a, seen[f] - 1);
            seen[f] = a + 1;
        }
    }
    for (ptrdiff_t f = 0; f < families->count; f++)
        seen[f] = 0;
    ptrdiff_t done = 0;
    for (ptrdiff_t a = 0; a < count; a++) {
        if (top_of(above, a) != a)
            continue;
        const ptrdiff_t start = done;
        for (ptrdiff_t b = a; b < count; b++)
            if (top_of(above, b) == a) {
                number[done] = start;
                found[done++] = holes->cells[b];
            }
        for (ptrdiff_t b = start; b < done; b++)
            holes->last[b] = done;
    }
    for (ptrdiff_t a = 0; a < count; a++) {
        holes->cells[a] = found[a];
        holes->first[a] = number[a];
    }
}

/* List the families that have a missing cell, with these cells. */
static void list_members(const Equations *net, Holes *holes)
{
    const Families *families = net->families;
    ptrdiff_t *place = holes->scratch; /* members of a family, then 1 + where the next one goes */
    holes->touched = 0;
    for (int fill = 0; fill < 2; fill++) {
        for (ptrdiff_t a = 0; a < holes->count; a++) {
            const int64_t c = holes->cells[a];
            for (int64_t k = net->child_starts[c] - 1; k < net->child_starts[c + 1]; k++) {
                const int is_child = k < net->child_starts[c];
                const int64_t e = is_child ? -1 : net->child_edges[k];
                const int64_t f = is_child ? net->family_of[c] : net->edge_family[e];
                if (fill) {
                    Member *member = holes->members + place[f]++;
                    member->cell = a;
                    member->slot = (ptrdiff_t)(is_child ? family_size(families, f)
                                                        : e - families->offsets[f]);
                    member->weight = is_child ? 1.0 : -net->coefficients[e];
                } else if (place[f]++ == 0) {
                    holes->families[holes->touched++] = f;
                }
            }
        }
        ptrdiff_t start = 0;
        for (ptrdiff_t t = 0; !fill && t < holes->touched; t++) {
            const ptrdiff_t own = place[holes->families[t]];
            holes->starts[t] = place[holes->families[t]] = start;
            start += own;
        }
        if (!fill)
            holes->starts[holes->touched] = start;
    }
    for (ptrdiff_t t = 0; t < holes->touched; t++)
        place[holes->families[t]] = 0;
}

/* Factor the precision of one block as R' D R where it lies, in the upper triangle: the diagonal
 * becomes D, what is right of it the unit triangle R. Many entries are 0 and stay so. */
static double factor_block(double *matrix, ptrdiff_t stride, ptrdiff_t first, ptrdiff_t last)
{
    double log_det = 0.0, product = 1.0;
    for (ptrdiff_t j = first; j < last; j++) {
        double *restrict row = matrix + j * stride;
        const double inverse = 1.0 / row[j];
        for (ptrdiff_t i = j + 1; i < last; i++) {
            const double entry = row[i];
            if (entry == 0.0)
                continue;
            double *restrict other = matrix + i * stride;
            const double ratio = entry * inverse, least = SINGULAR * other[i];
            for (ptrdiff_t k = i; k < last; k++)
                other[k] -= ratio * row[k];
            other[i] = other[i] > least ? other[i] : least;
        }
        product *= row[j];
        if (product < 1e-100 || product > 1e100) {
            log_det += log(product);
            product = 1.0;
        }
        for (ptrdiff_t i = j + 1; i < last; i++)
            row[i] *= inverse;
    }
    return log_det + log(product);
}

/* The inverse of R' D R of one block, from the last row up (Takahashi's recursion):
 * V_ik = -sum_j R_ij V_jk for k > i, and V_ii = 1 / D_i - sum_j R_ij V_ji, over j > i. */
static void invert_block(const double *factor, double *inverse, ptrdiff_t stride, ptrdiff_t first,
                         ptrdiff_t last)
{
    for (ptrdiff_t i = last - 1; i >= first; i--) {
        const double *restrict row = factor + i * stride;
        double *restrict out = inverse + i * stride;
        for (ptrdiff_t k = i + 1; k < last; k++)
            out[k] = 0.0;
        for (ptrdiff_t j = i + 1; j < last; j++) {
            if (row[j] == 0.0)
                continue;
            const double ratio = row[j];
            const double *restrict other = inverse + j * stride;
            for (ptrdiff_t k = i + 1; k < last; k++)
                out[k] -= ratio * other[k];
        }
        double diagonal = 1.0 / row[i];
        for (ptrdiff_t k = i + 1; k < last; k++) {
            diagonal -= row[k] * out[k];
            inverse[k * stride + i] = out[k];
        }
        out[i] = diagonal;
    }
}

/* All that the holes of a row tell; `row` has NaN at the missing cells. */
static int see_holes(const Equations *net, Holes *holes, const double *row)
{
    holes->count = 0;
    for (ptrdiff_t c = 0; c < net->columns; c++) {
        holes->is_hole[c] = row[c] != row[c];
        if (holes->is_hole[c])
            holes->cells[holes->count++] = c;
    }
    const ptrdiff_t count = holes->count;
    if (count > holes->room) {
        free(holes->factor);
        free(holes->covariance);
        holes->room = smaller(2 * count, net->columns);
        const size_t length = (size_t)holes->room * (size_t)holes->room * sizeof(double);
        holes->factor = malloc(length);
        holes->covariance = malloc(length);
        if (!holes->factor || !holes->covariance)
            return NO_MEMORY;
    }
    order_cells(net, holes);
    list_members(net, holes);
    if (count > 0)
        memset(holes->factor, 0, (size_t)(count * count) * sizeof(double));
    for (ptrdiff_t t = 0; t < holes->touched; t++) {
        const double scale = net->inverses[holes->families[t]];
        for (ptrdiff_t i = holes->starts[t]; i < holes->starts[t + 1]; i++)
            for (ptrdiff_t j = holes->starts[t]; j <= i; j++) {
                const Member *one = holes->members + i, *other = holes->members + j;
                holes->factor[smaller(one->cell, other->cell) * count +
                              greater(one->cell, other->cell)] +=
                    scale * one->weight * other->weight;
            }
    }
    holes->log_det = 0.0;
    for (ptrdiff_t a = 0; a < count; a = holes->last[a]) {
        holes->log_det += factor_block(holes->factor, count, a, holes->last[a]);
        invert_block(holes->factor, holes->covariance, count, a, holes->last[a]);
    }
    return 0;
}

/* Residuals of all families of a row less its means, `rest`, which is 0 at the missing cells. */
static void row_residuals(const Equations *net, const double *rest, double *residuals)
{
    const Families *families = net->families;
    for (ptrdiff_t f = 0; f < families->count; f++) {
        double sum = rest[families->children[f]];
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++)
            sum -= net->coefficients[e] * rest[families->parents[e]];
        residuals[f] = sum;
    }
}

/* Conditional means of the missing cells, less their means, into `rest`; residuals follow. `pull` is
 * space for a value of each missing cell. */
static void fill_row(const Equations *net, const Holes *holes, double *rest, double *residuals,
                     double *pull)
{
    const ptrdiff_t count = holes->count;
    row_residuals(net, rest, residuals);
    for (ptrdiff_t a = 0; a < count; a++)
        pull[a] = 0.0;
    for (ptrdiff_t t = 0; t < holes->touched; t++) {
        const int64_t f = holes->families[t];
        const double scaled = residuals[f] * net->inverses[f];
        for (ptrdiff_t i = holes->starts[t]; i < holes->starts[t + 1]; i++)
            pull[holes->members[i].cell] -= scaled * holes->members[i].weight;
    }
    for (ptrdiff_t a = 0; a < count; a++)
        for (ptrdiff_t b = a + 1; b < holes->last[a]; b++)
            pull[b] -= holes->factor[a * count + b] * pull[a];
    for (ptrdiff_t a = count - 1; a >= 0; a--) {
        const double *row = holes->factor + a * count;
        double sum = pull[a] / row[a];
        for (ptrdiff_t b = a + 1; b < holes->last[a]; b++)
            sum -= row[b] * pull[b];
        pull[a] = rest[holes->cells[a]] = sum;
    }
    for (ptrdiff_t t = 0; t < holes->touched; t++)
        for (ptrdiff_t i = holes->starts[t]; i < holes->starts[t + 1]; i++)
            residuals[holes->families[t]] += holes->members[i].weight * pull[holes->members[i].cell];
}

#endif
