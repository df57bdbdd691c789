// malloc fails where a program says so.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// This thread's: sizes that begin to fail, and how many are to succeed before one does.
inline thread_local size_t fails_from = SIZE_MAX;
inline thread_local long succeed_first = 0;

inline bool fails(size_t size) {
  if (size < fails_from || --succeed_first >= 0) return false;
  errno = ENOMEM;
  return true;
}

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);

void* malloc(size_t size) noexcept { return fails(size) ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept {
  return fails(count * size) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  return fails(size) ? nullptr : __libc_realloc(memory, size);
}

}  // extern "C"

// Ends the program where that is not so. It makes nothing on the heap.
#define CHECK(condition)                                                     \
  do {                                                                       \
    if (condition) break;                                                    \
    fails_from = SIZE_MAX;                                                   \
    std::fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
    std::_Exit(1);                                                           \
  } while (false)
