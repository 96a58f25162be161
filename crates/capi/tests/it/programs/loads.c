/* The library is loaded by a program that was not linked with it, as interpreters do, in threads that end later. */
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

static void *library;

static void *use(void *argument) {
    cd_status (*opens)(const char *, const char *, cd_regions *);
    cd_status (*closes)(cd_regions);
    cd_regions regions;
    (void)argument;
    *(void **)&opens = dlsym(library, "cd_regions_open");
    *(void **)&closes = dlsym(library, "cd_regions_close");
    if (!opens || !closes || opens(NULL, "page-faults", &regions) != CD_OK) exit(1);
    return closes(regions) == CD_OK ? library : NULL;
}

int main(void) {
    pthread_t thread;
    void *used;
    library = dlopen("libcpudyno.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library || !use(NULL)) return 1;
    if (pthread_create(&thread, NULL, use, NULL) || pthread_join(thread, &used) || used != library) return 1;
    CHECK(dlclose(library) == 0);
    return 0;
}
