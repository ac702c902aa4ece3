/* All columns of the rows, one after the other. */
#include "tiles.h"

static int turn_columns(const Matrix *x, double *out)
{
    const ptrdiff_t ahead = fetched_ahead(x);
    const ptrdiff_t value_bytes = x->single ? sizeof(float) : sizeof(double);
    const int turnable = x->column_stride == value_bytes;
    for (ptrdiff_t r = 0; r < x->rows; r += 2 * LANES) {
        const ptrdiff_t rows = smaller(2 * LANES, x->rows - r);
        ptrdiff_t c = 0;
        while (c < x->columns) {
            const char *from = x->data + r * x->row_stride + c * x->column_stride;
            double *to = out + c * x->rows + r;
            const int block = turnable && rows == 2 * LANES && c + LANES <= x->columns;
            if (block && x->single)
                copy_block(from, x->row_stride, ahead, to, x->rows, 1);
            else if (block)
                copy_block(from, x->row_stride, ahead, to, x->rows, 0);
            else
                copy_column(from, x->row_stride, rows, to, x->single);
            c += block ? LANES : 1;
        }
    }
    return 0;
}
