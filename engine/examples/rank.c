/* Feed a few events, ask for the next app. cc rank.c $(pkg-config --cflags --libs stap) && ./a.out stap.safetensors
 * The shipped model is src/stap/weights/stap.safetensors; any other that `stap export` wrote does as well. */
#include <stdio.h>
#include <string.h>

#include "stap.h"

static int report(const char* what, stap_status status) {
    fprintf(stderr, "%s: %s\n", what, stap_error_string(status));
    return 1;
}

int main(int argc, char** argv) {
    static const char* const apps[] = {"mail", "chat", "mail", "maps", "chat", "mail"};
    char why[256] = "";
    stap_model* model = NULL;
    stap_session* session = NULL;
    stap_candidate best[3];
    float unseen = 0;
    size_t count = 0, i;
    stap_status status =
        stap_model_load_file(argc > 1 ? argv[1] : "stap.safetensors", STAP_AS_STORED, &model, why, sizeof why);
    if (status != STAP_OK) return report(why, status);
    if ((status = stap_session_new(model, NULL, &session)) != STAP_OK) return report("session", status);
    for (i = 0; i < 12; ++i) { /* every usage is an open and a close, four minutes apart */
        const char* app = apps[i / 2];
        double minutes = 29000000.0 + 4.0 * (double)i;
        int action = i % 2 == 0 ? STAP_OPEN : STAP_CLOSE;
        status = stap_session_observe(session, app, strlen(app), action, minutes, stap_hour_of_day(minutes));
        if (status != STAP_OK) return report("observe", status);
    }
    if ((status = stap_session_rank(session, 3, best, &count)) != STAP_OK) return report("rank", status);
    for (i = 0; i < count; ++i) printf("%.*s %.3f\n", (int)best[i].length, best[i].app, (double)best[i].probability);
    if ((status = stap_session_unseen(session, &unseen)) != STAP_OK) return report("unseen", status);
    printf("an app never seen before %.3f\n", (double)unseen);
    stap_session_catch_up(session, 32, NULL); /* nobody waits now */
    stap_session_free(session);
    stap_model_free(model);
    return 0;
}
