/* STAP's engine: rank the apps a person will open next, without knowing what any app is.
 *
 * The whole surface. A model is read once and shared; a session is one person's history. Nothing here is global:
 * sessions are independent, also those of one model on different threads.
 * No function throws; every one that can fail returns a stap_status, and leaves its outputs alone when it fails.
 *
 * One session is for one thread at a time: a call that meets another at work in it does nothing and returns
 * STAP_ERROR_BUSY. Who shares a session keeps a lock, from the call until names of candidates are no longer read; and
 * frees it when no call is at work.
 *
 * After STAP_ERROR_MEMORY: nothing was made by what makes (load, new, restore), and nothing has changed by what only
 * reads (index, get_info, snapshot). Every other call may have left the session half changed: it is then broken, all it
 * answers from then on is STAP_ERROR_BROKEN, and it is to be freed; restore a snapshot, or replay the log into a new
 * one. Any other status leaves a session as whole as it was. (STAP_ERROR_INTERNAL is as STAP_ERROR_MEMORY.)
 *
 *     stap_session_observe(session, "mail", 4, STAP_OPEN, minutes, stap_hour_of_day(minutes));
 *     stap_session_rank(session, 5, best, &count);     the answer, now
 *     stap_session_catch_up(session, 8, &left);        later, when nobody waits
 */
#ifndef STAP_H
#define STAP_H

#include <stddef.h>
#include <stdint.h>

#define STAP_VERSION_MAJOR 0
#define STAP_VERSION_MINOR 1
#define STAP_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(STAP_SHARED) /* a DLL: the users' side, or while it is built the library's */
#if defined(STAP_BUILD)
#define STAP_API __declspec(dllexport)
#else
#define STAP_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define STAP_API __attribute__((visibility("default")))
#else
#define STAP_API
#endif

typedef struct stap_model stap_model;
typedef struct stap_session stap_session;

typedef enum stap_status {
    STAP_OK = 0,
    STAP_ERROR_ARGUMENT = 1, /* a null pointer, or a value outside its range */
    STAP_ERROR_MEMORY = 2,   /* no memory left */
    STAP_ERROR_FILE = 3,     /* the file cannot be read */
    STAP_ERROR_FORMAT = 4,   /* no safetensors file, or a damaged one */
    STAP_ERROR_CONFIG = 5,   /* its config is missing or impossible */
    STAP_ERROR_TENSOR = 6,   /* its tensors are not those of its config */
    STAP_ERROR_TIME = 7,     /* minutes or hour are not finite or out of range */
    STAP_ERROR_APP = 8,      /* an app's name is empty, longer than STAP_MOST_APP_BYTES, or unknown */
    STAP_ERROR_ACTION = 9,   /* an action is neither STAP_OPEN nor STAP_CLOSE */
    STAP_ERROR_EMPTY = 10,   /* nothing was observed yet */
    STAP_ERROR_STATE = 11,   /* a snapshot is damaged, or of another model */
    STAP_ERROR_ROOM = 12,    /* the caller's buffer is too small */
    STAP_ERROR_KERNEL = 13,  /* this processor lacks the kernels asked for */
    STAP_ERROR_NUMBER = 14,  /* the model's weights gave something that is no number */
    STAP_ERROR_INTERNAL = 15,
    STAP_ERROR_BROKEN = 16, /* the session ran out of memory in an earlier call */
    STAP_ERROR_BUSY = 17    /* another thread is at work in the session */
} stap_status;

enum { STAP_CLOSE = 0, STAP_OPEN = 1 };
enum { STAP_MOST_APP_BYTES = 4096 };
#define STAP_NO_INDEX UINT32_MAX
#define STAP_MOST_MINUTES 1e12 /* either side of zero: two million years */
#define STAP_WHENEVER 1e300    /* instead of minutes: nobody knows when */
#define STAP_OTHER 2e300       /* instead of minutes: of the next other app, as stap_session_rank asks */

/* (Where an enumeration comes in from a caller it is declared int: any value may come, and wrong ones are refused.) */

/* How numbers are kept, in weights and in key/value caches. */
typedef enum stap_dtype { STAP_F32 = 0, STAP_F16 = 1, STAP_I8 = 2, STAP_AS_STORED = 3 } stap_dtype;

/* What happens when the context is full. */
typedef enum stap_strategy {
    STAP_ISWI = 0,      /* two interleaved caches: the context is never shorter than half */
    STAP_RESET = 1,     /* forget everything and begin anew */
    STAP_REPREFILL = 2, /* compute the newer half again, at once */
    STAP_ROLLING = 3    /* drop the oldest event's keys and values */
} stap_strategy;

/* The loops that cost time, for one instruction set. The environment variable STAP_KERNELS (scalar, avx2, avx512, neon)
 * says what BEST is; a name that is unknown, or that this processor lacks, changes nothing. */
typedef enum stap_kernels {
    STAP_KERNELS_BEST = 0, /* the fastest this processor has */
    STAP_KERNELS_SCALAR = 1,
    STAP_KERNELS_AVX2 = 2,
    STAP_KERNELS_AVX512 = 3,
    STAP_KERNELS_NEON = 4
} stap_kernels;

typedef struct stap_model_info {
    uint32_t vocabulary, context, dim, layers, heads, hidden;
    uint32_t evidence;     /* width of the evidence head; 0: the model has none */
    stap_dtype weights;    /* of the large matrices */
    uint64_t weight_bytes; /* held in memory, once for all sessions */
} stap_model_info;

/* Begin with stap_options_default(). Later versions add fields at the end, where 0 is what was before; `size` tells the
 * library what its caller knows. So programs keep working with a newer library, and with an older one as long as they
 * set nothing that it does not know. */
typedef struct stap_options {
    size_t size;        /* sizeof(stap_options) */
    int strategy;       /* stap_strategy */
    uint32_t context;   /* L in events, even; 0: as the model was trained */
    int cache;          /* stap_dtype: F32, F16 or I8 */
    int kernels;        /* stap_kernels */
    uint32_t app_limit; /* how many virtual indices phi may use; 0: all of the vocabulary */
    int last_word;      /* 1: at a moment, each person's launches correct the model; 0: the model alone */
    uint64_t seed;      /* of the order in which phi hands out indices */
} stap_options;

static inline stap_options stap_options_default(void) {
    stap_options options = {sizeof(stap_options), STAP_ISWI, 0, STAP_I8, STAP_KERNELS_BEST, 0, 1, 0};
    return options;
}

typedef struct stap_candidate {
    const char* app; /* not terminated; valid until the session's next observe or forget */
    size_t length;
    uint32_t index; /* the virtual index behind it, or STAP_NO_INDEX: ranked by evidence alone */
    float probability;
} stap_candidate;

typedef struct stap_name {
    const char* app; /* need not be terminated */
    size_t length;
} stap_name;

typedef struct stap_filter {
    const stap_name* among; /* only these are ranked, e.g. what is installed; NULL: all */
    size_t among_count;
    const stap_name* without; /* these never, e.g. what somebody hid */
    size_t without_count;
} stap_filter;

/* What speaks for an app. `count` and `of` are whole numbers. Where they tell of times (AFTER_PAUSE, AGAIN, BEFORE,
 * WAKING) the engine's counts fade: up to 12 they are exact, beyond that about, and they never speak of more than the
 * last 50. */
typedef enum stap_reason_kind {
    STAP_REASON_AGAIN = 0,       /* it was used last, and opened again `count` of `of` times; of = 0: no more to tell */
    STAP_REASON_AFTER_PAUSE = 1, /* it was opened again after `count` of `of` pauses of this length */
    STAP_REASON_BEFORE = 2,      /* of the `of` times that `app`, used last, was left for another, `count` for it */
    STAP_REASON_HOUR = 3,        /* it is used more than usual at `hour` */
    STAP_REASON_RECENT = 4,      /* it was opened `count` minutes ago */
    STAP_REASON_LATELY = 5,      /* it was opened `count` times in the last `of` hours */
    STAP_REASON_OFTEN = 6,       /* it is the `count`th most used of `of` apps */
    STAP_REASON_WAKING = 7,      /* it was the first app after `count` of `of` pauses */
    STAP_REASON_NOTIFIED = 8,    /* its notification came `count` minutes ago */
    STAP_REASON_KINDS = 9
} stap_reason_kind;

typedef struct stap_reason {
    stap_reason_kind kind;
    float strength; /* by how much it raises the app's score: nats, so 0.7 doubles the odds */
    uint32_t count, of;
    int32_t hour;    /* 0 to 23, -1: none */
    const char* app; /* another one, not terminated, valid as a candidate's is; NULL: none */
    size_t length;
} stap_reason;

typedef struct stap_session_info {
    uint64_t events;      /* observed in all */
    uint32_t apps;        /* that hold a virtual index */
    uint32_t context;     /* events the predicting cache holds */
    uint32_t pending;     /* events that some cache still has to take */
    uint64_t forgotten;   /* apps that lost their index */
    uint64_t cache_bytes; /* allocated for keys and values */
    uint64_t other_bytes; /* scratch, the latest events and evidence */
    const char* kernels;
} stap_session_info;

STAP_API const char* stap_version(void); /* of the library; the macros above are of this header */
STAP_API const char* stap_error_string(stap_status status);
STAP_API double stap_hour_of_day(double minutes);

/* Read a model. `weights` converts while reading (STAP_AS_STORED: do not). When it fails, `message` (may be NULL) says
 * why in one line, which begins with the file's name. The model may be freed before its sessions. */
STAP_API stap_status stap_model_load_file(const char* path, int weights, stap_model** model, char* message,
                                          size_t message_size);
STAP_API stap_status stap_model_load_buffer(const void* data, size_t size, int weights, stap_model** model,
                                            char* message, size_t message_size);
STAP_API stap_status stap_model_get_info(const stap_model* model, stap_model_info* info);
STAP_API void stap_model_free(stap_model* model);

/* options NULL: the default ones. */
STAP_API stap_status stap_session_new(const stap_model* model, const stap_options* options, stap_session** session);
STAP_API void stap_session_free(stap_session* session);

/* Take an event. Cheap: what has to be computed is computed by rank, or by catch_up before it. Names are copied first,
 * so that a candidate's may be handed back, here and below. */
STAP_API stap_status stap_session_observe(stap_session* session, const char* app, size_t length, int action,
                                          double minutes, double hour);

/* An app asked to be opened: a notification was posted. It counts until the app is opened, a day at most, in answers of
 * stap_session_rank_at; how much, every launch teaches. It may come between events with any time, also of an app never
 * opened; of the app in front it says nothing. Without notifications no bit of any answer changes.
 * A pure model takes them and has no use for them. */
STAP_API stap_status stap_session_notify(stap_session* session, const char* app, size_t length, double minutes);

/* The app was uninstalled, or somebody wished it away: no trace of its name stays, and what is ranked next is ranked
 * without it. If it was used last, the app before it is now. Opened again, it is a new app; a close that still comes of
 * the app in front is ignored. Its place and its virtual index go to others. STAP_ERROR_APP where it is unknown. */
STAP_API stap_status stap_session_forget(stap_session* session, const char* app, size_t length);

/* The k most likely next apps among those seen, best first. count: how many were written. Of a pure model,
 * probabilities are a softmax over the virtual indices that apps hold. A model with evidence ranks also apps that hold
 * none, never the one that was opened last; its probabilities sum to 1 together with that of stap_session_unseen. */
STAP_API stap_status stap_session_rank(stap_session* session, size_t k, stap_candidate* best, size_t* count);

/* The same, asked at a moment: somebody looks at the screen, and an app is launched now, or whenever it comes
 * (minutes = STAP_WHENEVER). The app that was opened last is among the candidates: it may be opened again. `unseen`
 * (may be NULL): how likely it is an app never seen before. Asking changes nothing. A pure model answers as
 * stap_session_rank does. */
STAP_API stap_status stap_session_rank_at(stap_session* session, double minutes, double hour, size_t k,
                                          stap_candidate* best, size_t* count, float* unseen);

/* The same, or with minutes = STAP_OTHER what stap_session_rank answers, of some apps only (filter NULL: of all). Names
 * that were never seen are not ranked. Probabilities stay those of the whole: what is left out keeps its share. The
 * time it takes grows with the number of names, and no faster. */
STAP_API stap_status stap_session_rank_among(stap_session* session, double minutes, double hour,
                                             const stap_filter* filter, size_t k, stap_candidate* best, size_t* count,
                                             float* unseen);

/* Why an app stands where it does in the ranking that stap_session_rank_at gives then, or with minutes = STAP_OTHER
 * stap_session_rank: at most k reasons, strongest first. Statistics are taken in groups that mean something to a
 * person; a group is a reason where the app would have scored lower if it had said of it what it says of all on
 * average. No reason (count = 0): nothing special. A pure model gives none. STAP_ERROR_APP where the app is unknown.
 * Asking changes nothing. It takes about eight times as long as a ranking. */
STAP_API stap_status stap_session_why(stap_session* session, const char* app, size_t length, double minutes,
                                      double hour, size_t k, stap_reason* reasons, size_t* count);

/* A row of apps that adapts and yet stands still. `ranked`: the apps that shall be in it, best first, as a ranking
 * gives them (no app twice). `shown`: those that are in it now, slot by slot; of these, app and length are read. `row`
 * gets ranked_count entries of `ranked`: who is shown keeps the slot, newcomers take those that are free, best first;
 * in a row that has become shorter those who stay move left as far as they have to. Nothing is allocated. */
STAP_API stap_status stap_steady(const stap_candidate* shown, size_t shown_count, const stap_candidate* ranked,
                                 size_t ranked_count, stap_candidate* row);

/* How likely an app never seen before comes next ("none of these"); 0 for a model without evidence. */
STAP_API stap_status stap_session_unseen(stap_session* session, float* probability);

/* The logit of every virtual index, after the last event. `size` must be the vocabulary. */
STAP_API stap_status stap_session_logits(stap_session* session, float* logits, size_t size);

/* The virtual index an app holds; STAP_ERROR_APP when it holds none. */
STAP_API stap_status stap_session_index(const stap_session* session, const char* app, size_t length, uint32_t* index);

/* Work off at most so many pending events; `left` (may be NULL) is what remains. Call it while nobody waits for a
 * ranking. Without it a session stays correct: the last steps of a stage then take a few events each. */
STAP_API stap_status stap_session_catch_up(stap_session* session, size_t most, size_t* left);

STAP_API stap_status stap_session_get_info(const stap_session* session, stap_session_info* info);

/* The state as bytes. `size` is always set to what is needed; a buffer that is too small is left alone. */
STAP_API stap_status stap_session_snapshot(const stap_session* session, void* buffer, size_t room, size_t* size);

/* A session that goes on where the snapshot was taken: with the same kernels, every prediction has the same bits.
 * kernels: STAP_KERNELS_BEST for those of the snapshot where this processor has them, or others by name. */
STAP_API stap_status stap_session_restore(const stap_model* model, int kernels, const void* data, size_t size,
                                          stap_session** session);

#ifdef __cplusplus
}
#endif
#endif
