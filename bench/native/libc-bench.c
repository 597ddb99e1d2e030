/* What a server asks of its C library most: allocations, and searches for an octet or a text. Built twice, with glibc and
   with musl. Usage: libc-bench TASK THREADS SECONDS; prints operations (or octets) of all threads together, the
   CPU seconds and seconds that they took, and how often a thread had to wait. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { LIVE = 256, LEAST = 16, SIZES = 1024, PAGE = 65536, DENSE = 45, BATCH = 1000 };

/* Volatile, so that no compiler takes its own instead of the library's. */
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;
static void *(*volatile find_octet)(const void *, int, size_t) = memchr;
static char *(*volatile find_text)(const char *, const char *) = strstr;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Blocks of 16 to 1,039 octets, 256 alive at a time, the oldest of a place given back for each new one. */
static uint64_t run_allocate(uint32_t *state, void *memory) {
  void **live = memory;
  for (int i = 0; i < BATCH; i++) {
    uint32_t random = next(state);
    void **slot = &live[random % LIVE];
    release(*slot);
    *slot = allocate(LEAST + (random >> 8) % SIZES);
    if (*slot == NULL) abort();
    *(char *)*slot = 1;
  }
  return BATCH;
}

static uint64_t run_find(void *memory, int octet) {
  const char *at = memory, *end = at + PAGE;
  while (at < end && (at = find_octet(at, octet, end - at)) != NULL) at++;
  return PAGE;
}

/* A text that is not there, in a page of words that begin like it. */
static uint64_t run_find_text(void *memory) {
  if (find_text(memory, "www.example.org/start") != NULL) abort();
  return PAGE;
}

static const char *task;
static double until;

static uint64_t run(uint32_t *state, void *memory) {
  switch (task[0]) {
    case 'a': return run_allocate(state, memory);
    case 'r': return run_find(memory, '>');
    case 'd': return run_find(memory, '<');
    default: return run_find_text(memory);
  }
}

static void *work(void *argument) {
  uint64_t *done = argument;
  uint32_t state = 1;
  char *memory = calloc(1, PAGE + 1);
  if (memory == NULL) abort();
  if (task[0] != 'a') {
    static const char words[] = "www.exact other www.example.net under w trackers www ";
    for (int i = 0; i < PAGE; i++) memory[i] = i % DENSE == 0 ? '<' : words[i % (sizeof words - 1)];
    memory[PAGE] = '\0';
  }
  while (seconds(CLOCK_MONOTONIC) < until) *done += run(&state, memory);
  return NULL;
}

int main(int count, char **arguments) {
  static const char *const tasks[] = {"allocate", "rare", "dense", "text"};
  if (count != 4) return 2;
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
    if (strcmp(tasks[i], arguments[1]) == 0) task = tasks[i];
  int threads = atoi(arguments[2]);
  if (task == NULL || threads < 1 || threads > 64) return 2;
  double begun = seconds(CLOCK_MONOTONIC);
  until = begun + atof(arguments[3]);
  pthread_t ids[64];
  /* A line of the cache each. */
  static uint64_t done[64][8];
  for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, work, done[i]);
  uint64_t sum = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    sum += done[i][0];
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double elapsed = seconds(CLOCK_MONOTONIC) - begun;
  printf("%.0f %.6f %.6f %ld\n", (double)sum, seconds(CLOCK_PROCESS_CPUTIME_ID), elapsed, usage.ru_nvcsw);
  return 0;
}
