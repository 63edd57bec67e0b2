"""Parts of one array as matrices, without what numba's own slices and reshapes cost.

Those count references, atomically, and call a library: half a microsecond for the parts of one
predictor. A raw view is an address and a shape. It lives no longer than the array it looks into, so
it is made and used inside of one compiled call, and nothing checks its bounds but who packed it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rffpsr_ros.psr.runtime.compiling import (
    borrowed,
    cgutils,
    intrinsic,
    ir,
    number_type,
    types,
)


def _matrix(dtype: Any) -> Any:
    """Return an intrinsic that views numbers of a type from a place on, counted in such numbers."""
    kind = types.Array(number_type(np.dtype(dtype)), 2, "C")

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        base, start, rows, columns = given
        array = context.make_array(signature.args[0])(context, builder, base)
        item = context.get_constant(types.intp, np.dtype(dtype).itemsize)
        number = context.get_data_type(kind.dtype)
        data = builder.gep(builder.bitcast(array.data, number.as_pointer()), [start])
        view = context.make_array(kind)(context, builder)
        context.populate_array(
            view,
            data=data,
            shape=cgutils.pack_array(builder, [rows, columns]),
            strides=cgutils.pack_array(builder, [builder.mul(columns, item), item]),
            itemsize=item,
            meminfo=ir.Constant(context.get_value_type(types.MemInfoPointer(types.voidptr)), None),
        )
        return borrowed(context, builder, kind, view._getvalue())

    def typed(context: Any, base: Any, start: Any, rows: Any, columns: Any) -> Any:
        return kind(base, types.intp, types.intp, types.intp), generate

    return typed


doubles = intrinsic(_matrix(np.float64))
singles = intrinsic(_matrix(np.float32))
integers = intrinsic(_matrix(np.int64))
