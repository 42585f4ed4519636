// A session as bytes and back. Restoring trusts nothing: every number is checked before it is used.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "files/archive.h"
#include "hash.h"
#include "person/bounds.h"
#include "person/session.h"

namespace stap {
namespace {

constexpr char kMagic[8] = {'S', 'T', 'A', 'P', 'S', 'N', 'A', 'P'};

void put_phi(Writer& w, const Phi& phi) {
    w.value(uint32_t(phi.free.size()));
    w.bytes(phi.free.data(), phi.free.size() * sizeof(uint16_t));
    w.value(uint32_t(phi.index.size()));
    for (size_t i = 0; i < phi.slots.size(); ++i) {
        if (!phi.slots[i].used) continue;
        w.value(uint16_t(i));
        w.value(phi.slots[i].last_use);
        w.text(phi.slots[i].app, STAP_MOST_APP_BYTES);
    }
    w.value(phi.forgotten);
}

Phi get_phi(Reader& r, uint32_t vocabulary, uint64_t steps) {
    Phi phi;
    phi.slots.resize(vocabulary);
    std::vector<bool> taken(vocabulary);
    const auto get_index = [&](const char* why) {
        const uint16_t index = r.get<uint16_t>();
        if (index >= vocabulary || taken[index]) damaged(why);
        taken[index] = true;
        return index;
    };
    const uint32_t free = r.below<uint32_t>(vocabulary + 1, "too many free indices");
    for (uint32_t i = 0; i < free; ++i) phi.free.push_back(get_index("a free index that is none"));
    const uint32_t used = r.below<uint32_t>(vocabulary - free + 1, "too many apps");
    for (uint32_t i = 0; i < used; ++i) {
        const uint16_t index = get_index("an app's index that is none");
        Phi::Slot& slot = phi.slots[index];
        slot.used = true;
        slot.last_use = r.below<uint64_t>(steps, "an app used in the future");
        r.text(slot.app, STAP_MOST_APP_BYTES);
        if (slot.app.empty() || !phi.index.emplace(slot.app, index).second) damaged("an app without a name of its own");
    }
    if (free + used == 0) damaged("no room for any app");
    phi.forgotten = r.get<uint64_t>();
    return phi;
}

template <typename Archive, typename AnEvent>
void event_fields(Archive& a, AnEvent& event) {
    archive_values(a, event.minutes, event.hour, event.app, event.action, event.recycled);
    archive_list(a, event.moment);
}

void get_events(Reader& r, Session& s) {
    const uint64_t count = std::min<uint64_t>(s.steps, s.schedule.context);
    for (uint64_t i = 0; i < count; ++i) {
        Event event;
        event_fields(r, event);
        if (event.action > 1) damaged("an action that is none");
        if (!(std::fabs(event.minutes) <= STAP_MOST_MINUTES) || !(event.hour >= 0 && event.hour < 24))
            damaged("a time that is none");
        if (event.app >= s.phi.slots.size()) damaged("an event of no app");
        s.ring.push_back(event);
    }
}

template <typename Archive, typename List>
void hiding_fields(Archive& a, List& hidings, size_t most) {
    const size_t count = a.size(hidings.size(), most);
    if constexpr (Archive::kReads) hidings.resize(count);
    for (auto& hiding : hidings) archive_values(a, hiding.step, hiding.app);
}

void get_hidings(Reader& r, Session& s) {
    hiding_fields(r, s.hidings, s.schedule.context + s.phi.slots.size());
    uint64_t before = 0;
    for (const Session::Hiding& hiding : s.hidings) {
        if (hiding.step < before || hiding.step > s.steps || hiding.app >= s.phi.slots.size())
            damaged("an app forgotten that was none");
        before = hiding.step;
    }
}

// Call visit(pointer, bytes) for everything a cache holds, block by block.
template <typename Visit>
void visit_cache(const Session& s, const Cache& cache, Visit visit) {
    const BlockLayout& layout = s.pool.layout;
    if (cache.last && cache.taken)
        visit(cache.last.get(), size_t(s.model->config.layers) * s.model->sizes.attention * sizeof(float));
    if (cache.last_pointing && cache.taken) visit(cache.last_pointing.get(), s.model->sizes.pointing * sizeof(float));
    for (uint32_t start = cache.dropped / layout.events * layout.events; start < cache.taken; start += layout.events) {
        Block& block = cache.block_of(start, layout.events);
        const size_t rows = std::min(layout.events, cache.taken - start);
        visit(block.app, rows * sizeof *block.app);
        visit(block.action, rows * sizeof *block.action);
        for (uint32_t h = 0; h < s.model->config.pointing_heads; ++h) {
            const BlockLayout::Keys pointing = layout.pointing_at(block, h, 0);
            visit(pointing.keys, rows * layout.row);
            if (pointing.scales) visit(pointing.scales, rows * sizeof(float));
        }
        for (uint32_t layer = 0; layer < s.model->config.layers; ++layer)
            for (uint32_t h = 0; h < layout.heads; ++h) {
                const BlockLayout::Head head = layout.at(block, layer, h, 0);
                visit(head.keys, rows * layout.row);
                visit(head.values, rows * layout.row);
                if (!head.key_scales) continue;
                visit(head.key_scales, rows * sizeof(float));
                visit(head.value_scales, rows * sizeof(float));
            }
    }
}

void get_cache(Reader& r, Session& s, uint32_t c) {
    Cache& cache = s.caches[c];
    const uint32_t taken = r.get<uint32_t>();
    r.value(cache.origin);
    if (!s.receives(c)) {
        if (taken != 0) damaged("a cache filled before its time");
        return;
    }
    cache.first = s.schedule.first(c, s.steps - 1);
    if (taken > s.steps - cache.first) damaged("a cache with events to come");
    cache.taken = taken;
    cache.dropped = s.schedule.dropped(taken);
    if (s.schedule.strategy == STAP_ROLLING && s.steps - taken > s.schedule.context) damaged("a cache too far behind");
    const BlockLayout& layout = s.pool.layout;
    const uint64_t rows = taken - cache.dropped / layout.events * layout.events;
    if (rows * (sizeof *Block::app + sizeof *Block::action + layout.kept / layout.events) > r.left)
        damaged("a cache larger than its bytes");
    cache.reserve(taken, s.pool);
    visit_cache(s, cache, [&](void* data, size_t size) { r.bytes(data, size); });
    for (auto& block : cache.blocks) {
        for (uint16_t app : block->app)
            if (app >= s.phi.slots.size() && app != kHidden) damaged("a cached event of no app");
        block->any_hidden = std::find(std::begin(block->app), std::end(block->app), kHidden) != std::end(block->app);
    }
}

template <typename Archive, typename Word>
void word_fields(Archive& a, Word& word) {
    archive_list(a, word.weights);
    for (auto& set : word.biases) archive_list(a, set);
    archive_list(a, word.launches);
    archive_values(a, word.speaks);
    auto& notices = word.notices;
    const size_t count = a.size(notices.apps.size(), kMostApps);
    if constexpr (Archive::kReads) notices.apps.resize(count);
    for (auto& app : notices.apps) {
        a.text(app.name, STAP_MOST_APP_BYTES);
        archive_values(a, app.minutes, app.waits, app.weight);
    }
    archive_list(a, notices.weights);
}

void get_word(Reader& r, LastWord& word) {
    word_fields(r, word);
    std::unordered_set<std::string_view> names;
    for (const Notices::App& app : word.notices.apps)
        if (app.name.empty() || !names.insert(app.name).second || std::fabs(app.minutes) > STAP_MOST_MINUTES ||
            std::fabs(app.weight) > kMostOwnNotice)
            damaged("a notification that is none");
    for (double weight : word.notices.weights)
        if (std::fabs(weight) > kMostNotice) damaged("a weight out of bounds");
}

}  // namespace

std::vector<uint8_t> session_snapshot(const Session& s) {
    Writer w;
    w.bytes(kMagic, sizeof kMagic);
    w.value(kSnapshotVersion);
    w.value(s.model->fingerprint);
    w.value(uint8_t(s.schedule.strategy));
    w.value(uint8_t(s.pool.layout.dtype));
    w.value(uint8_t(s.kernels->id));
    archive_values(w, s.schedule.context, s.steps, s.ranked, s.answered);
    w.bytes(s.state.logits.get(), s.model->config.vocabulary * sizeof(float));
    w.bytes(s.state.hidden.get(), s.model->config.dim * sizeof(float));
    put_phi(w, s.phi);
    for (const Event& event : s.ring) event_fields(w, event);
    hiding_fields(w, s.hidings, 0);
    w.value(s.orphaned);
    for (const Cache& cache : s.caches) {
        archive_values(w, cache.taken, cache.origin);
        visit_cache(s, cache, [&](const void* data, size_t size) { w.bytes(data, size); });
    }
    if (s.evidence) {
        s.evidence->save(w);
        word_fields(w, s.word);
    }
    w.value(hash_bytes(w.out.data(), w.out.size(), kSnapshotVersion));
    return std::move(w.out);
}

std::unique_ptr<Session> session_restore(std::shared_ptr<const Model> model, const uint8_t* data, size_t size) {
    if (size < sizeof kMagic + sizeof(uint64_t) || std::memcmp(data, kMagic, sizeof kMagic) != 0)
        damaged("not one of ours");
    size -= sizeof(uint64_t);
    uint64_t hash;
    std::memcpy(&hash, data + size, sizeof hash);
    if (hash != hash_bytes(data, size, kSnapshotVersion)) damaged("some of its bytes have changed");
    Reader r{data + sizeof kMagic, size - sizeof kMagic};
    if (r.get<uint32_t>() != kSnapshotVersion) damaged("of another version");
    if (r.get<uint64_t>() != model->fingerprint) damaged("of another model");
    const auto strategy = stap_strategy(r.below<uint8_t>(STAP_ROLLING + 1, "an unknown strategy"));
    const auto dtype = stap_dtype(r.below<uint8_t>(STAP_I8 + 1, "an unknown dtype"));
    const Kernels* kernels = kernels_find(r.get<uint8_t>());
    if (!kernels) kernels = kernels_find(STAP_KERNELS_BEST);  // from another machine: right, if not to the last bit
    const uint32_t context = r.get<uint32_t>();
    if (context < 2 || context % 2 != 0 || context > kMostContext) damaged("an impossible context");
    auto session = std::make_unique<Session>(model, *kernels, Schedule{strategy, context}, dtype, Phi());
    session->steps = r.below<uint64_t>(uint64_t(1) << 31, "too many events");
    session->ranked = r.below<uint64_t>(session->steps + 1, "a ranking in the future");
    session->answered = r.below<uint64_t>(session->steps + 1, "an answer in the future");
    r.bytes(session->state.logits.get(), model->config.vocabulary * sizeof(float));
    r.bytes(session->state.hidden.get(), model->config.dim * sizeof(float));
    session->phi = get_phi(r, model->config.vocabulary, session->steps);
    get_events(r, *session);
    get_hidings(r, *session);
    r.value(session->orphaned);
    for (uint32_t c = 0; c < 2; ++c) get_cache(r, *session, c);
    if (session->evidence) {
        session->evidence->load(r);
        get_word(r, session->word);
    }
    if (r.left != 0) damaged("bytes after its end");
    if (session->steps > 0 && session->pending(session->active()) == 0 && session->answered != session->steps)
        damaged("no answer to its last event");
    return session;
}

}  // namespace stap
