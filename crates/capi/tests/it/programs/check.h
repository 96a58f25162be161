/* What the programs of the tests share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpudyno.h"

/* Ends the program with the line and the library's text where something is not as expected. */
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s\nlast error: %s\n", __FILE__, __LINE__, #condition, \
                    cd_error_text());                                                       \
            _Exit(1);                                                                        \
        }                                                                                    \
    } while (0)

/* Whether the text of the last error contains words. */
#define SAYS(words) (strstr(cd_error_text(), words) != NULL)
