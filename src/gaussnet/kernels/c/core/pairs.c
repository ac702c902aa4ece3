/* Pairs of columns: which may be correlated given the parents of one, and how much. */
#include "core/columns.h"

/* Columns that are looked at together: their loads stay close to the processor. */
#define PAIR_COLUMNS 256

/* A piece of a row as float32. */
static void read_floats(const Matrix *x, ptrdiff_t row, ptrdiff_t first, ptrdiff_t count,
                        float *restrict to)
{
    const char *from = x->data + row * x->row_stride + first * x->column_stride;
    if (x->single && x->column_stride == (ptrdiff_t)sizeof(float)) {
        memcpy(to, from, (size_t)count * sizeof(float));
        return;
    }
    for (ptrdiff_t k = 0; k < count; k++, from += x->column_stride)
        to[k] = x->single ? *(const float *)from : (float)*(const double *)from;
}

/* What is known of a family: its factor, the loads of its child, and the bounds. */
typedef struct {
    const int64_t *parents;
    ptrdiff_t child, size;
    const double *inverse, *loads;
    float limit, margin, left_margin, least;
} PairFamily;

static ptrdiff_t marked_parents(const PairFamily *family, ptrdiff_t first, ptrdiff_t count,
                                int32_t *marks)
{
    ptrdiff_t marked = 0;
    for (ptrdiff_t s = 0; s < family->size; s++) {
        const ptrdiff_t place = (ptrdiff_t)family->parents[s] - first;
        if (place >= 0 && place < count) {
            marked += marks[place];
            marks[place] = 0;
        }
    }
    return marked;
}

/* Mark the candidates among `count` columns; gives their number. `rows` has room for the products
 * of all parents with these columns. */
static ptrdiff_t mark_candidates(const Matrix *x, const PairFamily *family, ptrdiff_t first,
                                 ptrdiff_t count, float *rows, int32_t *marks)
{
    float product[PAIR_COLUMNS], left[PAIR_COLUMNS], load[PAIR_COLUMNS];
    read_floats(x, family->child, first, count, product);
    for (ptrdiff_t k = 0; k < count; k++)
        left[k] = 1.0f;
    for (ptrdiff_t s = 0; s < family->size; s++) {
        read_floats(x, (ptrdiff_t)family->parents[s], first, count, rows + s * PAIR_COLUMNS);
        for (ptrdiff_t k = 0; k < count; k++)
            load[k] = 0.0f;
        for (ptrdiff_t t = 0; t <= s; t++) {
            const float factor = (float)family->inverse[s * family->size + t];
            const float *restrict row = rows + t * PAIR_COLUMNS;
            for (ptrdiff_t k = 0; k < count; k++)
                load[k] += factor * row[k];
        }
        const float own = (float)family->loads[s];
        for (ptrdiff_t k = 0; k < count; k++) {
            product[k] -= own * load[k];
            left[k] -= load[k] * load[k];
        }
    }
    const float limit = family->limit, least = family->least;
    const float margin = family->margin, left_margin = family->left_margin;
    int32_t found = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        const float size = fabsf(product[k]) + margin, rest = left[k] - left_margin;
        const int32_t mark = (size * size >= rest * limit ? 1 : 0) | (rest < least ? 1 : 0);
        marks[k] = mark;
        found += mark;
    }
    return found ? found - marked_parents(family, first, count, marks) : 0;
}

static ptrdiff_t largest_family(const Families *families)
{
    ptrdiff_t most = 0;
    for (ptrdiff_t f = 0; f < families->count; f++)
        most = greater(most, family_size(families, f));
    return most;
}

/* Families and earlier columns whose residual product may be large; gives their number, of which as
 * many are written as there is room for. */
static ptrdiff_t candidate_pairs(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const double *inverse = given[2].values, *loads = given[3].values, *bounds = given[4].values;
    int64_t *pairs = given[6].values;
    const ptrdiff_t capacity = given[6].length / 2;
    ptrdiff_t found = 0;
    if (x->rows < x->columns)
        return REFUSED;
    float *rows = malloc((size_t)(largest_family(families) + 1) * PAIR_COLUMNS * sizeof(float));
    if (!rows)
        return NO_MEMORY;
    int32_t marks[PAIR_COLUMNS];
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f), start = (ptrdiff_t)families->offsets[f];
        const PairFamily family = {
            families->parents + start, (ptrdiff_t)families->children[f], size, inverse,
            loads + start, (float)bounds[f], (float)bounds[families->count + f],
            (float)bounds[2 * families->count + f], (float)given[5].real,
        };
        inverse += size * size;
        if (isnan(bounds[f]))
            continue;
        for (ptrdiff_t first = 0; first < family.child; first += PAIR_COLUMNS) {
            const ptrdiff_t count = smaller(PAIR_COLUMNS, family.child - first);
            if (mark_candidates(x, &family, first, count, rows, marks) == 0)
                continue;
            for (ptrdiff_t k = 0; k < count; k++) {
                if (marks[k] && found < capacity) {
                    pairs[found] = f;
                    pairs[capacity + found] = first + k;
                }
                found += marks[k];
            }
        }
    }
    free(rows);
    return found;
}

/* Other columns that are multiplied with the columns of a family together. */
#define MOST_TOGETHER 4

/* totals[i * width + j] = above[i] beside[j], of one or two columns above. */
static void multiply_few(const double *const *above, ptrdiff_t height, const double *const *beside,
                         ptrdiff_t width, ptrdiff_t rows, double *totals)
{
    for (ptrdiff_t k = 0; k < height * width; k++)
        totals[k] = 0.0;
#define BLOCK(w) \
    (height == 2 ? block_sums(above, 2, beside, w, rows, totals) \
                 : block_sums(above, 1, beside, w, rows, totals))
    switch (width) {
    case 1: BLOCK(1); break;
    case 2: BLOCK(2); break;
    case 3: BLOCK(3); break;
    case 4: BLOCK(4); break;
    }
#undef BLOCK
}

/* A family's columns, its factor, the loads of its child, and room for products. */
typedef struct {
    const double **members; /* the parents, then the child */
    ptrdiff_t size;
    const double *inverse, *loads;
    double *totals; /* (size + 1, MOST_TOGETHER) */
} PairWork;

/* Residual products of the child and `width` other columns, and the shares left of these. */
static void few_residuals(const PairWork *work, const double *const *others, ptrdiff_t width,
                          ptrdiff_t rows, double *products, double *left)
{
    const ptrdiff_t size = work->size;
    for (ptrdiff_t i = 0; i <= size; i += 2)
        multiply_few(work->members + i, smaller(2, size + 1 - i), others, width, rows,
                     work->totals + i * width);
    for (ptrdiff_t k = 0; k < width; k++) {
        double product = work->totals[size * width + k], rest = 1.0;
        for (ptrdiff_t s = 0; s < size; s++) {
            double part = 0.0;
            for (ptrdiff_t t = 0; t <= s; t++)
                part += work->inverse[s * size + t] * work->totals[t * width + k];
            product -= work->loads[s] * part;
            rest -= part * part;
        }
        products[k] = product;
        left[k] = rest;
    }
}

static const double *column_of(const Matrix *x, int64_t column)
{
    return (const double *)(x->data + (ptrdiff_t)column * x->column_stride);
}

/* Where the factor of each family starts, (families + 1,). */
static void factor_starts(const Families *families, ptrdiff_t *starts)
{
    starts[0] = 0;
    for (ptrdiff_t f = 0; f < families->count; f++)
        starts[f + 1] = starts[f] + family_size(families, f) * family_size(families, f);
}

/* Residual products of children and other columns, and the shares left of these. */
static ptrdiff_t pair_residuals(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const int64_t *chosen = given[4].values, *others = given[5].values;
    const ptrdiff_t pairs = given[4].length, side = largest_family(families) + 1;
    double *products = given[6].values, *left = given[7].values;
    double *totals = malloc((size_t)side * MOST_TOGETHER * sizeof(double));
    const double **members = malloc((size_t)side * sizeof(double *));
    ptrdiff_t *starts = malloc((size_t)(families->count + 1) * sizeof(ptrdiff_t));
    const int ready = totals && members && starts;
    if (ready)
        factor_starts(families, starts);
    for (ptrdiff_t first = 0, count; ready && first < pairs; first += count) {
        const ptrdiff_t f = (ptrdiff_t)chosen[first], start = (ptrdiff_t)families->offsets[f];
        const PairWork work = {members, family_size(families, f),
                               (const double *)given[2].values + starts[f],
                               (const double *)given[3].values + start, totals};
        const double *beside[MOST_TOGETHER];
        for (count = 0; count < MOST_TOGETHER && first + count < pairs && chosen[first + count] == f;
             count++)
            beside[count] = column_of(x, others[first + count]);
        for (ptrdiff_t s = 0; s < work.size; s++)
            members[s] = column_of(x, families->parents[start + s]);
        members[work.size] = column_of(x, families->children[f]);
        few_residuals(&work, beside, count, x->rows, products + first, left + first);
    }
    free(totals);
    free(members);
    free(starts);
    return ready ? 0 : NO_MEMORY;
}
