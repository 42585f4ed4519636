// stap._engine: the C header as two Python classes. Errors of the engine become EngineError(status, message);
// everything friendlier is Python's business (stap/predictors/engine.py).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bandwidth.h"
#include "bind.h"
#include "handles.h"

namespace {

Model* load_file(const std::string& path, int weights) {
    stap_model* model = nullptr;
    char message[512] = "";
    check_unlocked([&] { return stap_model_load_file(path.c_str(), weights, &model, message, sizeof message); },
                   message);
    return new Model(model);
}

Session* new_session(const Model& model, int strategy, uint32_t context, int cache, int kernels, uint32_t app_limit,
                     uint64_t seed, bool last_word) {
    const stap_options options = {sizeof(stap_options), strategy, context, cache, kernels, app_limit, last_word, seed};
    stap_session* session = nullptr;
    check(stap_session_new(model.handle, &options, &session));
    return new Session(session, model);
}

void observe(Session& session, std::string_view app, int action, double minutes, double hour) {
    check_quick(session,
                [&] { return stap_session_observe(session.handle, app.data(), app.size(), action, minutes, hour); });
}

// Many events in one call, without the GIL. Where one is refused, those before it were taken.
using Told = std::tuple<std::string, int, double, double>;
void observe_all(Session& session, const std::vector<Told>& events) {
    check_slow(session, [&] {
        for (const auto& [app, action, minutes, hour] : events) {
            const stap_status status =
                stap_session_observe(session.handle, app.data(), app.size(), action, minutes, hour);
            if (status != STAP_OK) return status;
        }
        return STAP_OK;
    });
}

void notify(Session& session, std::string_view app, double minutes) {
    check_quick(session, [&] { return stap_session_notify(session.handle, app.data(), app.size(), minutes); });
}

void forget(Session& session, std::string_view app) {
    check_quick(session, [&] { return stap_session_forget(session.handle, app.data(), app.size()); });
}

// A ranking that outlives the lock.
struct Ranked {
    struct App {
        size_t length;
        float probability;
    };
    std::string names;  // one after the other
    std::vector<App> apps;
    float unseen = 0;

    nb::list listed() const {
        nb::list out;
        const char* name = names.data();
        for (const App& app : apps) {
            out.append(nb::make_tuple(nb::str(name, app.length), double(app.probability)));
            name += app.length;
        }
        return out;
    }
    nb::tuple with_unseen() const { return nb::make_tuple(listed(), double(unseen)); }
};

// ask(most, best, &count, &unseen): any of the functions that rank.
template <typename Ask>
Ranked ranked(Session& session, size_t k, Ask ask) {
    Ranked out;
    check_slow(session, [&] {
        size_t count = 0;
        const stap_status status = ask(std::min(k, session.best.size()), session.best.data(), &count, &out.unseen);
        for (size_t i = 0; i < count; ++i) {
            const stap_candidate& c = session.best[i];
            out.names.append(c.app, c.length);
            out.apps.push_back({c.length, c.probability});
        }
        return status;
    });
    return out;
}

nb::list rank(Session& session, size_t k) {
    const auto ask = [&](size_t most, stap_candidate* best, size_t* count, float*) {
        return stap_session_rank(session.handle, most, best, count);
    };
    return ranked(session, k, ask).listed();
}

std::vector<stap_name> names_of(const std::vector<std::string>& texts) {
    std::vector<stap_name> names;
    for (const std::string& text : texts) names.push_back({text.data(), text.size()});
    return names;
}

nb::tuple rank_among(Session& session, size_t k, double minutes, double hour,
                     const std::optional<std::vector<std::string>>& among, const std::vector<std::string>& without) {
    static constexpr stap_name kNobody = {"", 0};
    const std::vector<stap_name> only = among ? names_of(*among) : std::vector<stap_name>(), never = names_of(without);
    const stap_name* const first = only.empty() ? &kNobody : only.data();
    const stap_filter filter = {among ? first : nullptr, only.size(), never.data(), never.size()};
    const auto ask = [&](size_t most, stap_candidate* best, size_t* count, float* unseen) {
        return stap_session_rank_among(session.handle, minutes, hour, &filter, most, best, count, unseen);
    };
    return ranked(session, k, ask).with_unseen();
}

nb::tuple rank_at(Session& session, size_t k, double minutes, double hour) {
    const auto ask = [&](size_t most, stap_candidate* best, size_t* count, float* unseen) {
        return stap_session_rank_at(session.handle, minutes, hour, most, best, count, unseen);
    };
    return ranked(session, k, ask).with_unseen();
}

nb::list why(Session& session, std::string_view app, size_t k, double minutes, double hour) {
    stap_reason reasons[STAP_REASON_KINDS];
    size_t count = 0;
    const size_t most = std::min(k, size_t(STAP_REASON_KINDS));
    std::string others[STAP_REASON_KINDS];  // names that outlive the lock
    check_slow(session, [&] {
        const stap_status status =
            stap_session_why(session.handle, app.data(), app.size(), minutes, hour, most, reasons, &count);
        for (size_t i = 0; status == STAP_OK && i < count; ++i)
            if (reasons[i].app) others[i].assign(reasons[i].app, reasons[i].length);
        return status;
    });
    nb::list listed;
    for (size_t i = 0; i < count; ++i) {
        const stap_reason& r = reasons[i];
        const nb::object other = r.app ? nb::object(nb::str(others[i].data(), others[i].size())) : nb::none();
        const nb::object at = r.hour < 0 ? nb::none() : nb::object(nb::int_(r.hour));
        listed.append(nb::make_tuple(int(r.kind), double(r.strength), r.count, r.of, at, other));
    }
    return listed;
}

std::vector<std::string> steady(const std::vector<std::string>& shown, const std::vector<std::string>& ranked) {
    const auto candidates = [](const std::vector<std::string>& names) {
        std::vector<stap_candidate> out;
        for (const std::string& name : names) out.push_back({name.data(), name.size(), STAP_NO_INDEX, 0});
        return out;
    };
    const std::vector<stap_candidate> now = candidates(shown), best = candidates(ranked);
    std::vector<stap_candidate> row(best.size());
    check(stap_steady(now.data(), now.size(), best.data(), best.size(), row.data()));
    std::vector<std::string> names;
    for (const stap_candidate& c : row) names.emplace_back(c.app, c.length);
    return names;
}

double unseen(Session& session) {
    float probability = 0;
    check_slow(session, [&] { return stap_session_unseen(session.handle, &probability); });
    return probability;
}

Array<float, 1> logits(Session& session) {
    auto values = array<float, 1>({session.vocabulary}, 0);
    check_slow(session, [&] { return stap_session_logits(session.handle, values.data(), session.vocabulary); });
    return values;
}

size_t catch_up(Session& session, size_t most) {
    size_t left = 0;
    check_slow(session, [&] { return stap_session_catch_up(session.handle, most, &left); });
    return left;
}

nb::bytes snapshot(Session& session) {
    std::string bytes;
    check_slow(session, [&] {
        size_t size = 0;
        const stap_status status = stap_session_snapshot(session.handle, nullptr, 0, &size);
        if (status != STAP_ERROR_ROOM) return status;
        bytes.resize(size);
        return stap_session_snapshot(session.handle, bytes.data(), bytes.size(), &size);
    });
    return nb::bytes(bytes.data(), bytes.size());
}

Session* restore(const Model& model, nb::bytes data, int kernels) {
    stap_session* session = nullptr;
    check(stap_session_restore(model.handle, kernels, data.c_str(), data.size(), &session));
    return new Session(session, model);
}

nb::object index_of(Session& session, std::string_view app) {
    uint32_t index = 0;
    bool held = true;
    check_quick(session, [&] {
        const stap_status status = stap_session_index(session.handle, app.data(), app.size(), &index);
        held = status != STAP_ERROR_APP;
        return held ? status : STAP_OK;
    });
    return held ? nb::object(nb::int_(index)) : nb::none();
}

nb::dict info(Session& session) {
    stap_session_info info;
    check_quick(session, [&] { return stap_session_get_info(session.handle, &info); });
    nb::dict out;
    out["events"] = info.events;
    out["apps"] = info.apps;
    out["context"] = info.context;
    out["pending"] = info.pending;
    out["forgotten"] = info.forgotten;
    out["cache_bytes"] = info.cache_bytes;
    out["other_bytes"] = info.other_bytes;
    out["kernels"] = info.kernels;
    return out;
}

}  // namespace

NB_MODULE(_engine, m) {
    static PyObject* engine_error = PyErr_NewException("stap._engine.EngineError", PyExc_RuntimeError, nullptr);
    m.attr("EngineError") = nb::borrow(engine_error);
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const EngineError& error) {
            nb::object arguments = nb::make_tuple(int(error.status), error.message);
            PyErr_SetObject(engine_error, arguments.ptr());
        }
    });
    m.def("version", &stap_version);
    m.def("read_bandwidth", &read_bandwidth, nb::arg("bytes"), nb::call_guard<nb::gil_scoped_release>());
    m.def("steady", &steady, nb::arg("shown"), nb::arg("ranked"));
    m.def("hour_of_day", &stap_hour_of_day, nb::arg("minutes"));
    bind_constants(m);
    bind_evidence(m);
    nb::class_<Model>(m, "Model")
        .def_static("load", &load_file, nb::arg("path"), nb::arg("weights"), nb::rv_policy::take_ownership)
        .def_prop_ro("vocabulary", [](const Model& model) { return model.info().vocabulary; })
        .def_prop_ro("context", [](const Model& model) { return model.info().context; })
        .def_prop_ro("evidence", [](const Model& model) { return model.info().evidence; })
        .def_prop_ro("weights", [](const Model& model) { return int(model.info().weights); })
        .def_prop_ro("weight_bytes", [](const Model& model) { return model.info().weight_bytes; })
        .def("session", &new_session, nb::arg("strategy"), nb::arg("context"), nb::arg("cache"), nb::arg("kernels"),
             nb::arg("app_limit"), nb::arg("seed"), nb::arg("last_word"), nb::rv_policy::take_ownership)
        .def("restore", &restore, nb::arg("data"), nb::arg("kernels"), nb::rv_policy::take_ownership);
    nb::class_<Session>(m, "Session")
        .def("observe", &observe, nb::arg("app"), nb::arg("action"), nb::arg("minutes"), nb::arg("hour"))
        .def("observe_all", &observe_all, nb::arg("events"))
        .def("notify", &notify, nb::arg("app"), nb::arg("minutes"))
        .def("forget", &forget, nb::arg("app"))
        .def("rank", &rank, nb::arg("k"))
        .def("rank_at", &rank_at, nb::arg("k"), nb::arg("minutes"), nb::arg("hour"))
        .def("rank_among", &rank_among, nb::arg("k"), nb::arg("minutes"), nb::arg("hour"), nb::arg("among").none(),
             nb::arg("without"))
        .def("why", &why, nb::arg("app"), nb::arg("k"), nb::arg("minutes"), nb::arg("hour"))
        .def("unseen", &unseen)
        .def("logits", &logits)
        .def("index", &index_of, nb::arg("app"))
        .def("catch_up", &catch_up, nb::arg("most"))
        .def("snapshot", &snapshot)
        .def("info", &info);
}
