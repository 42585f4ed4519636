// The C border: arguments are checked, and what they ask for is done behind border.h.
#include <cmath>

#include "arguments.h"
#include "border.h"
#include "person/why.h"

namespace {

using namespace stap;

void check_load(const void* from, int weights, stap_model** model) {
    if (!from || !model || weights < STAP_F32 || weights > STAP_AS_STORED)
        fail(STAP_ERROR_ARGUMENT, stap_error_string(STAP_ERROR_ARGUMENT));
}

stap_model* load(Source&& source, int weights) { return new stap_model{model_load(source, stap_dtype(weights))}; }

const Kernels* find_kernels(int wanted) {
    const Kernels* kernels = kernels_find(wanted);
    if (!kernels) fail(STAP_ERROR_KERNEL, "no such kernels here");
    return kernels;
}

std::unique_ptr<Session> make_session(const stap_model* model, const stap_options& o) {
    const Config& config = model->shared->config;
    const uint32_t context = o.context ? o.context : config.context;
    const uint32_t limit = o.app_limit ? o.app_limit : config.vocabulary;
    if (o.strategy < STAP_ISWI || o.strategy > STAP_ROLLING || o.cache < STAP_F32 || o.cache > STAP_I8)
        fail(STAP_ERROR_ARGUMENT, "no such strategy or dtype");
    if (context % 2 != 0 || context > kMostContext || limit > config.vocabulary)
        fail(STAP_ERROR_ARGUMENT, "context or app_limit out of range");
    const Schedule schedule = {stap_strategy(o.strategy), context};
    auto session = std::make_unique<Session>(model->shared, *find_kernels(o.kernels), schedule, stap_dtype(o.cache),
                                             Phi(config.vocabulary, limit, o.seed));
    session->word.speaks = o.last_word != 0;
    return session;
}

bool is_time(double minutes, double hour) { return std::fabs(minutes) <= STAP_MOST_MINUTES && hour >= 0 && hour < 24; }

// What a caller's minutes and hour ask.
bool is_question(double minutes, double hour, Asked& asked) {
    asked = {Asked::kLaunch, minutes, hour};
    if (minutes == STAP_WHENEVER) asked = {Asked::kWhenever, 0, 0};
    if (minutes == STAP_OTHER) asked = {Asked::kOther, 0, 0};
    return asked.kind != Asked::kLaunch || is_time(minutes, hour);
}

stap_status rank_asked(stap_session& session, double minutes, double hour, const Filter& filter, size_t k,
                       stap_candidate* best, size_t* count, float* unseen) {
    Asked asked;
    if (!is_question(minutes, hour, asked)) return STAP_ERROR_TIME;
    return changing(session, [&] {
        double share = 0;
        *count = session.person->rank_at(asked, k, best, share, filter);
        if (unseen) *unseen = float(share);
    });
}

bool are_lists(const stap_filter& filter) {
    const auto is_list = [](const stap_name* names, size_t count) {
        return count == 0 || (names && std::all_of(names, names + count, [](const stap_name& n) { return n.app; }));
    };
    return is_list(filter.among, filter.among_count) && is_list(filter.without, filter.without_count);
}

void take_names(const stap_name* names, size_t count, std::unordered_set<std::string_view>& out) {
    out.reserve(count);
    for (size_t i = 0; i < count; ++i) out.emplace(names[i].app, names[i].length);
}

}  // namespace

extern "C" {

const char* stap_version(void) { return STAP_VERSION; }

const char* stap_error_string(stap_status status) {
    switch (status) {
        case STAP_OK: return "all is well";
        case STAP_ERROR_ARGUMENT: return "an argument is null or out of range";
        case STAP_ERROR_MEMORY: return "no memory left";
        case STAP_ERROR_FILE: return "the file cannot be read";
        case STAP_ERROR_FORMAT: return "not a safetensors file, or a damaged one";
        case STAP_ERROR_CONFIG: return "the model's config is missing or impossible";
        case STAP_ERROR_TENSOR: return "the file's tensors are not those of its config";
        case STAP_ERROR_TIME: return "minutes or hour are not finite or out of range";
        case STAP_ERROR_APP: return "an app's name is empty, too long or unknown";
        case STAP_ERROR_ACTION: return "an action is neither open nor close";
        case STAP_ERROR_EMPTY: return "nothing was observed yet";
        case STAP_ERROR_STATE: return "the snapshot is damaged, or of another model";
        case STAP_ERROR_ROOM: return "the buffer is too small";
        case STAP_ERROR_KERNEL: return "this processor lacks the kernels asked for";
        case STAP_ERROR_NUMBER: return "the model's weights gave something that is no number";
        case STAP_ERROR_BROKEN: return "the session ran out of memory in an earlier call";
        case STAP_ERROR_BUSY: return "another thread is at work in the session";
        default: return "an error inside the engine";
    }
}

double stap_hour_of_day(double minutes) {
    const double day = std::fmod(minutes, 1440.0), hour = (day < 0 ? day + 1440.0 : day) / 60.0;
    return hour < 24.0 ? hour : 0.0;  // a hair before midnight can round up to it
}

stap_status stap_model_load_file(const char* path, int weights, stap_model** model, char* message,
                                 size_t message_size) {
    const auto work = [&] {
        check_load(path, weights, model);
        try {
            *model = load(Source(path), weights);
        } catch (const Failure& failure) {
            fail(failure.status, shown(path) + ": " + failure.message);
        }
    };
    return guarded(work, message, message_size);
}

stap_status stap_model_load_buffer(const void* data, size_t size, int weights, stap_model** model, char* message,
                                   size_t message_size) {
    const auto work = [&] {
        check_load(data, weights, model);
        *model = load(Source(data, size), weights);
    };
    return guarded(work, message, message_size);
}

stap_status stap_model_get_info(const stap_model* model, stap_model_info* info) {
    if (!model || !info) return STAP_ERROR_ARGUMENT;
    const Model& m = *model->shared;
    const Config& c = m.config;
    const stap_dtype weights = m.weights.layers[0].qkv.dtype;
    *info = {c.vocabulary, c.context, c.dim, c.layers, c.heads, c.hidden, c.evidence, weights, m.bytes};
    return STAP_OK;
}

void stap_model_free(stap_model* model) { delete model; }

stap_status stap_session_new(const stap_model* model, const stap_options* options, stap_session** session) {
    if (!model || !session) return STAP_ERROR_ARGUMENT;
    return guarded([&] {
        auto made = std::make_unique<stap_session>();
        made->person = make_session(model, known_options(options));
        *session = made.release();
    });
}

void stap_session_free(stap_session* session) { delete session; }

stap_status stap_session_observe(stap_session* session, const char* app, size_t length, int action, double minutes,
                                 double hour) {
    if (!session || !app) return STAP_ERROR_ARGUMENT;
    if (length == 0 || length > STAP_MOST_APP_BYTES) return STAP_ERROR_APP;
    if (action != STAP_OPEN && action != STAP_CLOSE) return STAP_ERROR_ACTION;
    if (!is_time(minutes, hour)) return STAP_ERROR_TIME;
    return changing(*session, [&] { session->person->observe(std::string(app, length), action, minutes, hour); });
}

// A name that was handed out lies in phi or in evidence. `notify` moves neither, and `forget` copies it first.
stap_status stap_session_notify(stap_session* session, const char* app, size_t length, double minutes) {
    if (!session || !app) return STAP_ERROR_ARGUMENT;
    if (length == 0 || length > STAP_MOST_APP_BYTES) return STAP_ERROR_APP;
    if (!is_time(minutes, 0)) return STAP_ERROR_TIME;
    return changing(*session, [&] { session->person->notify({app, length}, minutes); });
}

stap_status stap_session_forget(stap_session* session, const char* app, size_t length) {
    if (!session || !app) return STAP_ERROR_ARGUMENT;
    if (length > STAP_MOST_APP_BYTES) return STAP_ERROR_APP;
    return changing(*session, [&] { session->person->forget({app, length}); });
}

stap_status stap_session_rank(stap_session* session, size_t k, stap_candidate* best, size_t* count) {
    if (!session || !count || (!best && k > 0)) return STAP_ERROR_ARGUMENT;
    return changing(*session, [&] { *count = session->person->rank(k, best, Filter()); });
}

stap_status stap_session_rank_at(stap_session* session, double minutes, double hour, size_t k, stap_candidate* best,
                                 size_t* count, float* unseen) {
    if (!session || !count || (!best && k > 0)) return STAP_ERROR_ARGUMENT;
    if (minutes == STAP_OTHER) return STAP_ERROR_TIME;
    return rank_asked(*session, minutes, hour, Filter(), k, best, count, unseen);
}

stap_status stap_session_rank_among(stap_session* session, double minutes, double hour, const stap_filter* filter,
                                    size_t k, stap_candidate* best, size_t* count, float* unseen) {
    if (!session || !count || (!best && k > 0) || (filter && !are_lists(*filter))) return STAP_ERROR_ARGUMENT;
    Filter wanted;
    const stap_status status = guarded([&] {
        if (!filter) return;
        wanted.all = !filter->among;
        take_names(filter->among, filter->among_count, wanted.among);
        take_names(filter->without, filter->without_count, wanted.without);
    });
    return status == STAP_OK ? rank_asked(*session, minutes, hour, wanted, k, best, count, unseen) : status;
}

stap_status stap_session_why(stap_session* session, const char* app, size_t length, double minutes, double hour,
                             size_t k, stap_reason* reasons, size_t* count) {
    if (!session || !app || !count || (!reasons && k > 0)) return STAP_ERROR_ARGUMENT;
    Asked asked;
    if (!is_question(minutes, hour, asked)) return STAP_ERROR_TIME;
    return changing(*session, [&] { *count = session_why(*session->person, {app, length}, asked, k, reasons); });
}

stap_status stap_session_unseen(stap_session* session, float* probability) {
    if (!session || !probability) return STAP_ERROR_ARGUMENT;
    return changing(*session, [&] { *probability = float(session->person->unseen()); });
}

stap_status stap_session_logits(stap_session* session, float* logits, size_t size) {
    if (!session || !logits) return STAP_ERROR_ARGUMENT;
    if (size != session->person->model->config.vocabulary) return STAP_ERROR_ROOM;
    return changing(*session, [&] { std::memcpy(logits, session->person->logits(), size * sizeof(float)); });
}

stap_status stap_session_index(const stap_session* session, const char* app, size_t length, uint32_t* index) {
    if (!session || !app || !index) return STAP_ERROR_ARGUMENT;
    if (length > STAP_MOST_APP_BYTES) return STAP_ERROR_APP;
    return alone(*session, [&] {
        const auto& indices = session->person->phi.index;
        const auto entry = indices.find(std::string(app, length));
        if (entry == indices.end()) fail(STAP_ERROR_APP, "no such app");
        *index = entry->second;
    });
}

stap_status stap_session_catch_up(stap_session* session, size_t most, size_t* left) {
    if (!session) return STAP_ERROR_ARGUMENT;
    return changing(*session, [&] {
        session->person->catch_up(most);
        if (left) *left = session->person->pending(0) + session->person->pending(1);
    });
}

stap_status stap_session_get_info(const stap_session* session, stap_session_info* info) {
    if (!session || !info) return STAP_ERROR_ARGUMENT;
    return alone(*session, [&] {
        const Session& s = *session->person;
        const Cache& cache = s.caches[s.steps ? s.active() : 0];
        const uint32_t apps = uint32_t(s.phi.index.size()), pending = s.pending(0) + s.pending(1);
        const uint64_t heads = s.evidence ? s.fusion->bytes + (s.launch ? s.launch->bytes : 0) : 0;
        const uint64_t evidence = s.evidence ? s.evidence->bytes() + heads : 0;
        const uint64_t other = s.state.bytes + s.ring.capacity() * sizeof(Event) + evidence;
        *info = {s.steps, apps,           cache.taken - cache.dropped, pending, s.phi.forgotten, s.pool.bytes,
                 other,   s.kernels->name};
    });
}

stap_status stap_session_snapshot(const stap_session* session, void* buffer, size_t room, size_t* size) {
    if (!session || !size || (!buffer && room > 0)) return STAP_ERROR_ARGUMENT;
    return alone(*session, [&] {
        const std::vector<uint8_t> bytes = session_snapshot(*session->person);
        *size = bytes.size();
        if (room < bytes.size()) fail(STAP_ERROR_ROOM, "buffer too small");
        std::memcpy(buffer, bytes.data(), bytes.size());
    });
}

stap_status stap_session_restore(const stap_model* model, int kernels, const void* data, size_t size,
                                 stap_session** session) {
    if (!model || !data || !session) return STAP_ERROR_ARGUMENT;
    return guarded([&] {
        auto made = std::make_unique<stap_session>();
        made->person = session_restore(model->shared, static_cast<const uint8_t*>(data), size);
        if (kernels != STAP_KERNELS_BEST) made->person->kernels = find_kernels(kernels);
        *session = made.release();
    });
}

}  // extern "C"
