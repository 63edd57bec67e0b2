"""The parts of the C files that are the same for every model, NAME standing for its name."""

HEADER = """\
/* NAME: a model of how a robot responds to commands, written by rffpsr_ros VERSION.
 *
 * ABOUT
 *
 * Compile with -O3 and for the processor at hand (-march=native): products of matrices are most of
 * the work. Never with -ffast-math: a missing observation is NaN. With -DNAME_FLOAT all numbers are
 * floats, else doubles. No function asks for memory, keeps anything, or calls more than the C
 * library's mathematics. What they work in is on the stack.
 */
#ifndef NAME_H
#define NAME_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef NAME_FLOAT
typedef float NAME_real;
#else
typedef double NAME_real;
#endif

enum {
    NAME_OBSERVATIONS = OBSERVED,
    NAME_ACTIONS = ACTED,
    NAME_STATE_SIZE = STATE_SIZE,
    NAME_CARRY_SIZE = CARRY_SIZE
};

/* Seconds from tick to tick. */
#define NAME_PERIOD PERIOD

/* What the model knows of the past: to be copied as you like. */
typedef struct {
    NAME_real values[NAME_STATE_SIZE];
} NAME_state;

/* Set the state at an episode's start, before the first action. */
void NAME_initial(NAME_state *state);

/* Take a tick: an action acted, then an observation was seen; NAN where it is missing. */
void NAME_update(NAME_state *state, const NAME_real *action, const NAME_real *observation);

/* Forecast the next ticks, row by row: forecast[h][NAME_OBSERVATIONS] given
 * actions[h][NAME_ACTIONS]. A forecast depends on the actions up to its own tick only. */
void NAME_predict(const NAME_state *state, int horizon, const NAME_real *actions,
                  NAME_real *forecast);
JACOBIAN
#ifdef __cplusplus
}
#endif
#endif
"""

JACOBIAN_HEADER = """\

/* Numbers that NAME_jacobian works in, for a horizon. */
#define NAME_JACOBIAN_WORK(horizon) ((horizon) * NAME_ACTIONS * NAME_CARRY_SIZE)

/* Forecast, and tell how the forecast depends on the actions, exactly:
 * jacobian[h][NAME_OBSERVATIONS][horizon][NAME_ACTIONS]. work has
 * NAME_JACOBIAN_WORK(horizon) numbers; what is in them does not matter. */
void NAME_jacobian(const NAME_state *state, int horizon, const NAME_real *actions,
                   NAME_real *forecast, NAME_real *jacobian, NAME_real *work);
"""

SOURCE_HEAD = """\
/* Written by rffpsr_ros VERSION; see NAME.h. */
#include "NAME.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "compile without -ffast-math: a missing observation is NaN"
#endif

typedef NAME_real real;

#ifdef NAME_FLOAT
#define ROOT sqrtf
#define EXPONENTIAL expf
#else
#define ROOT sqrt
#define EXPONENTIAL exp
#endif
#define ZERO ((real)0)
#define HALF ((real)0.5)
#define ONE ((real)1)
"""

COMBINING = """
/* The sum of rows (count, columns) times weights; eight at a time, as sums are read and written
 * each time. */
static void combine(const real *restrict rows, const real *restrict weights, int count, int columns,
                    real *restrict sum)
{
    for (int j = 0; j < columns; ++j) sum[j] = ZERO;
    for (; count >= 8; count -= 8) {
        const real *restrict a = rows, *restrict b = a + columns;
        const real *restrict c = b + columns, *restrict d = c + columns;
        const real *restrict e = d + columns, *restrict f = e + columns;
        const real *restrict g = f + columns, *restrict h = g + columns;
        const real *w = weights;
        const real p = w[0], q = w[1], r = w[2], s = w[3], t = w[4], u = w[5], v = w[6], x = w[7];
        for (int j = 0; j < columns; ++j) {
            sum[j] += ((p * a[j] + q * b[j]) + (r * c[j] + s * d[j]))
                + ((t * e[j] + u * f[j]) + (v * g[j] + x * h[j]));
        }
        rows = h + columns;
        weights += 8;
    }
    for (; count > 0; --count) {
        const real p = *weights++;
        for (int j = 0; j < columns; ++j) sum[j] += p * rows[j];
        rows += columns;
    }
}
"""

MULTIPLYING = """
/* A matrix (rows, columns) times a vector: each sum as eight side by side. */
static void multiply(const real *restrict matrix, const real *restrict vector, int rows,
                     int columns, real *restrict product)
{
    for (int i = 0; i < rows; ++i) {
        real sums[8] = {0};
        int j = 0;
        for (; j + 8 <= columns; j += 8) {
            for (int k = 0; k < 8; ++k) sums[k] += matrix[j + k] * vector[j + k];
        }
        for (; j < columns; ++j) sums[0] += matrix[j] * vector[j];
        product[i] = ((sums[0] + sums[1]) + (sums[2] + sums[3]))
            + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        matrix += columns;
    }
}
"""

WAVES = """
/* What rounds a number to a whole one, where it is added and taken away again. */
#if FLT_EVAL_METHOD == 2
#define WHOLE ((real)13835058055282163712.0)
#elif defined(NAME_FLOAT) && FLT_EVAL_METHOD == 0
#define WHOLE ((real)12582912.0)
#else
#define WHOLE ((real)6755399441055744.0)
#endif

/* Of Taylor's series, as much as the numbers hold. */
#ifdef NAME_FLOAT
#define SINE(z) ((real)-1.66666666666666666667e-1 + z * ((real)8.33333333333333333333e-3 \
    + z * ((real)-1.98412698412698412698e-4 + z * (real)2.75573192239858906526e-6)))
#define COSINE(z) (-HALF + z * ((real)4.16666666666666666667e-2 \
    + z * ((real)-1.38888888888888888889e-3 + z * ((real)2.48015873015873015873e-5 \
    - z * (real)2.75573192239858906526e-7))))
#else
#define SINE(z) ((real)-1.66666666666666666667e-1 + z * ((real)8.33333333333333333333e-3 \
    + z * ((real)-1.98412698412698412698e-4 + z * ((real)2.75573192239858906526e-6 \
    + z * ((real)-2.50521083854417187751e-8 + z * ((real)1.60590438368216145994e-10 \
    + z * ((real)-7.64716373181981647590e-13 + z * (real)2.81145725434552076320e-15)))))))
#define COSINE(z) (-HALF + z * ((real)4.16666666666666666667e-2 \
    + z * ((real)-1.38888888888888888889e-3 + z * ((real)2.48015873015873015873e-5 \
    + z * ((real)-2.75573192239858906526e-7 + z * ((real)2.08767569878680989792e-9 \
    + z * ((real)-1.14707455977297247139e-11 + z * ((real)4.77947733238738529744e-14 \
    - z * (real)1.56192069685862264622e-16))))))))
#endif

/* Cosines, then sines, of phases: Taylor series within an eighth of a turn, and by which quarter of
 * a turn (-2 to 2) that is which of them, without a branch: compilers make vector instructions of
 * it. */
static void waves_of(const real *restrict phases, int count, real *restrict waves)
{
    const real quarter = (real)1.57079632679489661923, per_turn = (real)0.63661977236758134308;
    for (int i = 0; i < count; ++i) {
        const real turns = phases[i] * per_turn;
        const real whole = (turns + WHOLE) - WHOLE;
        const real fours = (whole * (real)0.25 + WHOLE) - WHOLE;
        const real at = whole - (real)4 * fours, square = at * at;
        const real odd = square * ((real)4 - square) / (real)3;
        const real even = (ONE - odd) * (ONE - HALF * square);
        const real x = (turns - whole) * quarter, z = x * x;
        const real s = x * (ONE + z * SINE(z)), c = ONE + z * COSINE(z);
        waves[i] = even * c - odd * at * s;
        waves[count + i] = even * s + odd * at * c;
    }
}
"""

SOLVING = """
/* A = L D L^T of a positive definite matrix, in place, given its upper triangle: D L^T right of the
 * diagonal, 1 / D on it, L left of it. Two pivots at a time, as rows are read and written each
 * time. */
static void eliminate(real *restrict a, int size)
{
    int k = 0;
    for (; k + 1 < size; k += 2) {
        real *restrict first = a + k * size, *restrict second = first + size;
        const real p = ONE / first[k], below = second[k] = first[k + 1] * p;
        for (int j = k + 1; j < size; ++j) second[j] -= below * first[j];
        const real q = ONE / second[k + 1];
        for (int i = k + 2; i < size; ++i) {
            real *restrict row = a + i * size;
            const real x = row[k] = first[i] * p, y = row[k + 1] = second[i] * q;
            for (int j = i; j < size; ++j) row[j] -= x * first[j] + y * second[j];
        }
        first[k] = p;
        second[k + 1] = q;
    }
    if (k < size) a[k * size + k] = ONE / a[k * size + k];
}

/* Solve A x = b in place. */
static void substitute(const real *restrict a, int size, real *restrict b)
{
    for (int k = 0; k < size; ++k) {
        const real *restrict row = a + k * size;
        b[k] *= row[k];
        for (int i = k + 1; i < size; ++i) b[i] -= row[i] * b[k];
    }
    for (int k = size - 1; k > 0; --k) {
        const real *restrict row = a + k * size;
        for (int i = 0; i < k; ++i) b[i] -= row[i] * b[k];
    }
}
"""

PREDICT = """
void NAME_predict(const NAME_state *state, int horizon, const NAME_real *actions,
                  NAME_real *forecast)
{
    real carry[NAME_CARRY_SIZE], next[NAME_CARRY_SIZE];
    int h = 0;
    begin(state->values, carry);
    for (; h < horizon - 1; ++h) {
        step(carry, actions + h * NAME_ACTIONS, next, forecast + h * NAME_OBSERVATIONS);
        memcpy(carry, next, sizeof carry);
    }
    if (h < horizon) last(carry, actions + h * NAME_ACTIONS, forecast + h * NAME_OBSERVATIONS);
}
"""

JACOBIAN = """
void NAME_jacobian(const NAME_state *state, int horizon, const NAME_real *actions,
                   NAME_real *forecast, NAME_real *jacobian, NAME_real *work)
{
    const int stride = horizon * NAME_ACTIONS;
    real carry[NAME_CARRY_SIZE], next[NAME_CARRY_SIZE];
    begin(state->values, carry);
    for (int i = 0; i < horizon * NAME_OBSERVATIONS * stride; ++i) jacobian[i] = ZERO;
    for (int h = 0; h < horizon; ++h) {
        step_derivatives(carry, actions + h * NAME_ACTIONS, next, forecast + h * NAME_OBSERVATIONS,
                         h * NAME_ACTIONS, work, jacobian + h * NAME_OBSERVATIONS * stride, stride);
        memcpy(carry, next, sizeof carry);
    }
}
"""
