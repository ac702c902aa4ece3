/* The table of suspicious cells, and looking for cells in it. */
#ifndef GAUSSNET_CELLS_H
#define GAUSSNET_CELLS_H

#include "kernels.h"

#define CALLED_WRONG 2
#define CALLED_RARE 4

/* Suspicious cells and rows left out of all nodes: those of node f are firsts[f] .. lasts[f] and
 * left_firsts[f] .. left_lasts[f]. There is space for `capacity` of each. */
typedef struct {
    int64_t *firsts, *lasts, *left_firsts, *left_lasts;
    int64_t *rows, *left_out;
    unsigned char *statuses;
    double *expected, *variances, *deviations, *log_ratios;
    ptrdiff_t capacity;
} CellTable;

/* The bounds and rows of a table, from two arguments. */
static CellTable read_bounds(const Argument *given)
{
    CellTable table = {.firsts = given[0].values, .rows = given[1].values};
    const ptrdiff_t nodes = given[0].length / 4;
    table.capacity = given[1].length / 2;
    table.lasts = table.firsts + nodes;
    table.left_firsts = table.lasts + nodes;
    table.left_lasts = table.left_firsts + nodes;
    table.left_out = table.rows + table.capacity;
    return table;
}

/* A table from the arguments bounds, rows, statuses, values; `log_ratios` is left out. */
static CellTable read_table(const Argument *given)
{
    CellTable table = read_bounds(given);
    table.statuses = given[2].values;
    table.expected = given[3].values;
    table.variances = table.expected + table.capacity;
    table.deviations = table.variances + table.capacity;
    return table;
}

/* Whether the cells of `nodes` nodes lie in the table. */
static int has_bounds(const CellTable *table, ptrdiff_t nodes)
{
    int sound = 1;
    for (ptrdiff_t f = 0; f < nodes; f++)
        sound = sound && table->firsts[f] >= 0 && table->firsts[f] <= table->lasts[f] &&
                table->lasts[f] <= table->capacity;
    return sound;
}

/* Whether besides all these cells are in rows below `rows`. */
static int has_rows(const CellTable *table, ptrdiff_t nodes, ptrdiff_t rows)
{
    int sound = has_bounds(table, nodes);
    for (ptrdiff_t f = 0; sound && f < nodes; f++)
        for (int64_t cell = table->firsts[f]; cell < table->lasts[f]; cell++)
            sound = sound && table->rows[cell] >= 0 && table->rows[cell] < rows;
    return sound;
}

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

/* Cells of the children of all edges. */
static ptrdiff_t cells_below(const Families *families, const CellTable *table)
{
    ptrdiff_t cells = 0;
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t own = (ptrdiff_t)(table->lasts[f] - table->firsts[f]);
        cells = plus(cells, times(own, family_size(families, f)));
    }
    return cells;
}

/* Space for all cells of all children is needed; gives how many keys there are, some more than
 * once. */
static ptrdiff_t list_parents(const Argument *given)
{
    const Families *families = &given[0].families;
    const CellTable table = read_table(given + 1);
    const double *reach = given[5].values;
    const ptrdiff_t rows = given[6].number;
    int64_t *keys = given[7].values;
    ptrdiff_t count = 0;
    if (!has_rows(&table, families->count, rows) || times(families->count, rows) == TOO_MANY ||
        cells_below(families, &table) > given[7].length)
        return REFUSED;
    for (ptrdiff_t f = 0; f < families->count; f++)
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++)
            count += list_parent(&table, f, families->parents[e], reach[f], rows, keys + count);
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

static ptrdiff_t find_cells(const Argument *given)
{
    const CellTable table = read_bounds(given);
    const int64_t *nodes = given[2].values, *rows = given[3].values;
    int64_t *indices = given[4].values;
    if (!has_bounds(&table, given[0].length / 4))
        return REFUSED;
    for (ptrdiff_t k = 0; k < given[2].length; k++)
        indices[k] = find_cell(&table, nodes[k], rows[k]);
    return 0;
}

#endif
