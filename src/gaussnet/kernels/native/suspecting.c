/* Looking for cells: those of the table, and those that no one suspects, each a parent of a cell
 * that was called wrong or rare. */
#include "kernels.h"

#define CALLED_WRONG 2
#define CALLED_RARE 4

/* List as node * rows + row the cells of `parent` in the rows of the accused cells of node f that
 * deviate by no more than `reach`, but for those that are in the table themselves; gives how many. */
static ptrdiff_t list_parent(const CellTable *table, ptrdiff_t f, int64_t parent, double reach,
                             ptrdiff_t rows, int64_t *keys)
{
    int64_t known = table->firsts[parent];
    ptrdiff_t count = 0;
    for (int64_t cell = table->firsts[f]; cell < table->lasts[f]; cell++) {
        const unsigned char status = table->statuses[cell];
        const int64_t row = table->rows[cell];
        if ((status != CALLED_WRONG && status != CALLED_RARE) ||
            !(fabs(table->deviations[cell]) <= reach))
            continue;
        while (known < table->lasts[parent] && table->rows[known] < row)
            known++;
        if (known == table->lasts[parent] || table->rows[known] != row)
            keys[count++] = parent * rows + row;
    }
    return count;
}

/* Room for all cells of all children is needed; gives how many keys there are, some more than
 * once. */
static ptrdiff_t list_parents(const Families *families, const CellTable *table,
                              const double *reach, ptrdiff_t rows, int64_t *keys)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t f = 0; f < families->count; f++)
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++)
            count += list_parent(table, f, families->parents[e], reach[f], rows, keys + count);
    return count;
}

/* Where the cell of a node in a row stands in the table, or -1. */
static int64_t find_cell(const CellTable *table, int64_t node, int64_t row)
{
    int64_t first = table->firsts[node], last = table->lasts[node];
    while (first < last) {
        const int64_t middle = first + (last - first) / 2;
        if (table->rows[middle] < row)
            first = middle + 1;
        else
            last = middle;
    }
    return first < table->lasts[node] && table->rows[first] == row ? first : -1;
}

static int find_cells(const CellTable *table, const int64_t *nodes, const int64_t *rows,
                      ptrdiff_t count, int64_t *places)
{
    for (ptrdiff_t k = 0; k < count; k++)
        places[k] = find_cell(table, nodes[k], rows[k]);
    return 0;
}
