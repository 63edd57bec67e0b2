"""What comes with the C files: a C++ class and an example, NAME standing for the model's name."""

WRAPPER = """\
// NAME as a C++ class (C++11 or later), written by rffpsr_ros VERSION; compile NAME.c beside it.
#ifndef NAME_HPP
#define NAME_HPP

#include <array>
#include <cstddef>

#include "NAME.h"

namespace NAME_model {

using Real = NAME_real;
using Action = std::array<Real, NAME_ACTIONS>;
using Observation = std::array<Real, NAME_OBSERVATIONS>;

class Model {
public:
    Model() { reset(); }

    // Begin an episode.
    void reset() { NAME_initial(&state_); }

    // Take a tick: an action acted, then an observation was seen; NaN where it is missing.
    void update(const Action &action, const Observation &observation)
    {
        NAME_update(&state_, action.data(), observation.data());
    }

    // Forecast the next H ticks.
    template <std::size_t H>
    std::array<Observation, H> predict(const std::array<Action, H> &actions) const
    {
        std::array<Observation, H> forecast;
        NAME_predict(&state_, static_cast<int>(H), actions[0].data(), forecast[0].data());
        return forecast;
    }
JACOBIAN
    const NAME_state &state() const { return state_; }

private:
    NAME_state state_;
};

}  // namespace NAME_model
#endif
"""

JACOBIAN_WRAPPER = """
    // Forecast, and how it depends on the actions: rows by tick and observation, columns by tick
    // and action.
    template <std::size_t H>
    struct Derivatives {
        std::array<Observation, H> forecast;
        std::array<std::array<Real, H * NAME_ACTIONS>, H * NAME_OBSERVATIONS> jacobian;
    };

    template <std::size_t H>
    void jacobian(const std::array<Action, H> &actions, Derivatives<H> &found,
                  std::array<Real, NAME_JACOBIAN_WORK(H)> &work) const
    {
        NAME_jacobian(&state_, static_cast<int>(H), actions[0].data(), found.forecast[0].data(),
                      found.jacobian[0].data(), work.data());
    }
"""

EXAMPLE = """\
/* Follows lines of actions and observations ("nan": missing) and prints a forecast after each.
 *
 *     cc -O3 -march=native -o example example.c NAME.c -lm
 *     ./example < ticks.txt
 */
#include <math.h>
#include <stdio.h>

#include "NAME.h"

#define HORIZON 10

int main(void)
{
    static NAME_real actions[HORIZON][NAME_ACTIONS], forecast[HORIZON][NAME_OBSERVATIONS];
    NAME_real action[NAME_ACTIONS], observation[NAME_OBSERVATIONS];
    NAME_state state;
    double number = 0.0;

    NAME_initial(&state);
    for (;;) {
        for (int i = 0; i < NAME_ACTIONS; ++i) {
            if (scanf("%lf", &number) != 1) return 0;
            action[i] = (NAME_real)number;
        }
        for (int i = 0; i < NAME_OBSERVATIONS; ++i) {
            if (scanf("%lf", &number) != 1) return 0;
            observation[i] = (NAME_real)number;
        }
        NAME_update(&state, action, observation);

        /* The command stays as it is. */
        for (int h = 0; h < HORIZON; ++h) {
            for (int i = 0; i < NAME_ACTIONS; ++i) actions[h][i] = action[i];
        }
        NAME_predict(&state, HORIZON, &actions[0][0], &forecast[0][0]);
        for (int i = 0; i < NAME_OBSERVATIONS; ++i) {
            printf(i ? " %.9g" : "%.9g", (double)forecast[HORIZON - 1][i]);
        }
        printf("\\n");
    }
}
"""
