// stap._engine.Evidence: the engine's evidence on its own, for training and for tests.
#include "person/evidence.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bind.h"
#include "stap.h"

namespace nb = nanobind;
using namespace stap;

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// k likeliest apps of an outlook: names, statistics, ranks of recency; and the moment.
nb::tuple listed(const Evidence& evidence, const Outlook& outlook, uint32_t k) {
    std::vector<uint32_t> places;
    if (!evidence.blend().apps.empty()) evidence.blend().candidates(outlook, k, places);
    auto statistics = array<float, 2>({places.size(), kStatistics}, 0);
    auto rank = array<int32_t, 1>({places.size()}, 0);
    auto moment = array<float, 1>({kMomentValues}, 0);
    nb::list names;
    for (size_t i = 0; i < places.size(); ++i) {
        evidence.statistics(outlook, places[i], statistics.data() + i * kStatistics);
        const Blend::App& app = evidence.blend().apps[places[i]];
        rank.data()[i] = int32_t(app.rank);
        names.append(nb::str(app.name.data(), app.name.size()));
    }
    evidence.moment(outlook, moment.data());
    return nb::make_tuple(names, statistics, rank, moment);
}

nb::tuple now(const Evidence& evidence, uint32_t k) { return listed(evidence, evidence.now(), k); }

Asked question_at(double minutes) {
    if (std::isnan(minutes)) return {};
    if (minutes == STAP_WHENEVER) return {Asked::kWhenever, 0, 0};
    return {Asked::kLaunch, minutes, stap_hour_of_day(minutes)};
}

nb::tuple at(const Evidence& evidence, uint32_t k, double minutes, double hour) {
    Outlook outlook;
    if (evidence.blend().apps.empty()) return listed(evidence, outlook, k);
    Asked question = question_at(minutes);
    question.hour = hour;
    evidence.look(question, outlook);
    return listed(evidence, outlook, k);
}

// One person's usages at once: a question about each, after its open (opened) or its close, with the k likeliest
// candidates and the moment; and the moment after each event. `at`: of a launch at that time, or STAP_WHENEVER; not a
// number: of the next other app. App codes count by first use, so a code is the place of its app until places are
// given on.
nb::tuple table(Column<int32_t> app, Column<double> start, Column<double> end, Column<bool> opened, Column<double> at,
                uint32_t k) {
    const size_t n = app.shape(0);
    auto code = array<int32_t, 2>({n, k}, -1);
    auto statistics = array<float, 3>({n, k, kStatistics}, 0);
    auto rank = array<uint8_t, 2>({n, k}, 0);
    auto moment = array<float, 3>({n, 2, kMomentValues}, 0);
    auto asked = array<float, 2>({n, kMomentValues}, 0);
    {
        nb::gil_scoped_release release;
        Evidence evidence;
        Outlook later;
        std::vector<uint32_t> places;
        for (size_t i = 0; i < n; ++i) {
            const std::string name = std::to_string(app.data()[i]);
            for (const bool open : {true, false}) {
                const double minutes = open ? start.data()[i] : end.data()[i];
                evidence.observe(name, open ? STAP_OPEN : STAP_CLOSE, minutes, stap_hour_of_day(minutes));
                evidence.moment(evidence.now(), moment.data() + (2 * i + !open) * kMomentValues);
                if (open != opened.data()[i]) continue;
                const Asked question = question_at(at.data()[i]);
                const Outlook* outlook = &evidence.now();
                if (question.kind != Asked::kOther) {
                    evidence.look(question, later);
                    outlook = &later;
                }
                evidence.moment(*outlook, asked.data() + i * kMomentValues);
                evidence.blend().candidates(*outlook, k, places);
                for (size_t j = 0; j < places.size(); ++j) {
                    const Blend::App& candidate = evidence.blend().apps[places[j]];
                    code.data()[i * k + j] = std::stoi(candidate.name);
                    rank.data()[i * k + j] = uint8_t(std::min(candidate.rank, 255u));
                    evidence.statistics(*outlook, places[j], statistics.data() + (i * k + j) * kStatistics);
                }
            }
        }
    }
    return nb::make_tuple(code, statistics, rank, moment, asked);
}

}  // namespace

void bind_evidence(nb::module_& m) {
    nb::class_<Evidence>(m, "Evidence")
        .def(nb::init<>())
        .def(
            "observe",
            [](Evidence& e, std::string_view app, int action, double minutes, double hour) {
                e.observe(app, action, minutes, hour);
            },
            nb::arg("app"), nb::arg("action"), nb::arg("minutes"), nb::arg("hour"))
        .def("now", &now, nb::arg("k"))
        .def("at", &at, nb::arg("k"), nb::arg("minutes"), nb::arg("hour"));
    m.def("evidence_table", &table, nb::arg("app"), nb::arg("start"), nb::arg("end"), nb::arg("opened"), nb::arg("at"),
          nb::arg("k"));
}
