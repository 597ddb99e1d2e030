/*
 * A peer: Hyperscan in streaming mode with start of match. It only scans; what it finds is counted and not replaced.
 *
 *   hyperscan-scan PATTERNS PAGE CHUNK_BYTES
 *
 * PATTERNS holds one expression a line, a flag digit before each: `0 UA-[0-9]+`, `1` for caseless. After a line
 * `VERSION MATCHES COMPILE_NS` it waits for lines on standard input. Each holds a number of milliseconds: whole pages are
 * scanned, each as one stream written in chunks, until that much CPU time has gone, and `PAGES CPU_NS` is answered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hs/hs.h>

static unsigned long long matches;

static int on_match(unsigned int id, unsigned long long from, unsigned long long to, unsigned int flags, void *context) {
  (void)id, (void)from, (void)to, (void)flags, (void)context;
  matches++;
  return 0;
}

static long long cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void fail(const char *what) {
  fprintf(stderr, "hyperscan-scan: %s\n", what);
  exit(1);
}

/* The whole file with a zero behind it. */
static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail(path);
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  if (text == NULL || fread(text, 1, *length, file) != *length) fail(path);
  text[*length] = 0;
  fclose(file);
  return text;
}

static hs_database_t *compile(char *text) {
  size_t capacity = 0, count = 0;
  const char **expressions = NULL;
  unsigned int *flags = NULL, *ids = NULL;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (count == capacity) {
      capacity = capacity == 0 ? 64 : capacity * 2;
      expressions = realloc(expressions, capacity * sizeof *expressions);
      flags = realloc(flags, capacity * sizeof *flags);
      ids = realloc(ids, capacity * sizeof *ids);
      if (expressions == NULL || flags == NULL || ids == NULL) fail("out of memory");
    }
    expressions[count] = line + 2;
    flags[count] = HS_FLAG_SOM_LEFTMOST | (line[0] == '1' ? HS_FLAG_CASELESS : 0);
    ids[count] = (unsigned int)count;
    count++;
  }
  hs_database_t *database = NULL;
  hs_compile_error_t *error = NULL;
  const unsigned int mode = HS_MODE_STREAM | HS_MODE_SOM_HORIZON_LARGE;
  if (hs_compile_multi(expressions, flags, ids, (unsigned int)count, mode, NULL, &database, &error) != HS_SUCCESS)
    fail(error->message);
  return database;
}

static void scan_page(hs_database_t *database, hs_scratch_t *scratch, const char *page, size_t length, size_t chunk) {
  hs_stream_t *stream = NULL;
  if (hs_open_stream(database, 0, &stream) != HS_SUCCESS) fail("hs_open_stream");
  for (size_t at = 0; at < length; at += chunk) {
    const size_t size = length - at < chunk ? length - at : chunk;
    if (hs_scan_stream(stream, page + at, (unsigned int)size, 0, scratch, on_match, NULL) != HS_SUCCESS)
      fail("hs_scan_stream");
  }
  if (hs_close_stream(stream, scratch, on_match, NULL) != HS_SUCCESS) fail("hs_close_stream");
}

int main(int count, char **arguments) {
  if (count != 4) fail("expected PATTERNS PAGE CHUNK_BYTES");
  size_t patterns_length, length;
  char *patterns = read_file(arguments[1], &patterns_length);
  char *page = read_file(arguments[2], &length);
  const size_t chunk = (size_t)strtoul(arguments[3], NULL, 10);
  if (chunk == 0) fail("chunks have at least one byte");
  const long long before = cpu_ns();
  hs_database_t *database = compile(patterns);
  const long long compiled = cpu_ns() - before;
  hs_scratch_t *scratch = NULL;
  if (hs_alloc_scratch(database, &scratch) != HS_SUCCESS) fail("hs_alloc_scratch");
  scan_page(database, scratch, page, length, chunk);
  const char *version = hs_version();
  printf("%.*s %llu %lld\n", (int)strcspn(version, " "), version, matches, compiled);
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const long long until = cpu_ns() + strtol(line, NULL, 10) * 1000000LL;
    const long long started = cpu_ns();
    long long now = started;
    long pages = 0;
    do {
      scan_page(database, scratch, page, length, chunk);
      pages++;
      now = cpu_ns();
    } while (now < until);
    printf("%ld %lld\n", pages, now - started);
    fflush(stdout);
  }
  return 0;
}
