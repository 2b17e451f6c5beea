/*
 * The golden files beside this one: gcc -o derive derive.c && ./derive FORMAT > samples.FORMAT
 *
 * It writes three samples with the formats of printf and the structures that VILLASnode 1.2.0 (d9a8d463) writes them with:
 * lib/formats/villas_human.cpp, column.cpp, msg.cpp, raw.cpp, and lib/signal_data.cpp (printString). json is what json_dumpf of
 * jansson 2.14 gives: "%.17g", with ".0" added to what looks like an integer.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define VALUES 5
struct sample { long long sec, nsec; double offset; int has_offset; unsigned long long sequence; int frame; double data[VALUES]; };
static const struct sample samples[] = {
  {1553516817, 42435000, 0, 0, 0, 0, {0.1, -0.0, 1e15, 0.5, -123.456}},
  {1553516817, 142435001, 2.5e-4, 1, 1, 1, {1.0 / 3, 2.0 / 3, 1e-17, -4.999999999999999e-18, 9007199254740993.0}},
  {4294967295LL, 999999999, -1.5, 1, 18446744073709551615ULL, 0, {1e22, 0.99999999999999999, 5e-324, 1.7976931348623157e308, 8.5}},
};

static double delta(const struct sample *s) {
  /* time_add(origin, time_from_double(offset)), then time_delta */
  long long sec = (long long)s->offset, nsec = (long long)(1.0e9 * (s->offset - sec));
  sec += s->sec; nsec += s->nsec;
  if (nsec >= 1000000000) { sec++; nsec -= 1000000000; }
  sec -= s->sec; nsec -= s->nsec;
  if (nsec < 0) { sec--; nsec += 1000000000; }
  return sec + nsec * 1e-9;
}

static void human(const struct sample *s) {
  printf("%llu", (unsigned long long)s->sec);
  printf(".%09llu", (unsigned long long)s->nsec);
  if (s->has_offset) printf("%+e", delta(s));
  printf("(%llu)", s->sequence);
  if (s->frame) printf("F");
  for (int i = 0; i < VALUES; i++) printf("\t%.*f", 17, s->data[i]);
  printf("%c", '\n');
}

static void column(const struct sample *s, char separator) {
  printf("%lld%c%09lld", s->sec, separator, s->nsec);
  if (s->has_offset) printf("%c%.09f", separator, delta(s)); else printf("%cnan", separator);
  printf("%c%llu", separator, s->sequence);
  for (int i = 0; i < VALUES; i++) printf("%c%.*f", separator, 17, s->data[i]);
  printf("%c", '\n');
}

static void json(const struct sample *s) {
  printf("{\"ts\": {\"origin\": [%lld, %lld]}, ", s->sec, s->nsec);
  if (s->frame) printf("\"flags\": [\"new_frame\"], ");
  printf("\"sequence\": %lld, \"data\": [", (long long)s->sequence);
  for (int i = 0; i < VALUES; i++) {
    char text[64], *e;
    sprintf(text, "%.17g", s->data[i]);
    if (!strpbrk(text, ".e")) strcat(text, ".0");
    if ((e = strchr(text, 'e'))) {
      char *digits = e + 1, *from = digits;
      if (*from == '-') digits++;
      from++;
      while (*from == '0') from++;
      memmove(digits, from, strlen(from) + 1);
    }
    printf("%s%s", i ? ", " : "", text);
  }
  printf("]}\n");
}

static void message(const struct sample *s, int web) {
  uint32_t words[4] = {0, s->sequence, s->sec, s->nsec};
  uint16_t length = VALUES;
  if (!web) { length = htons(length); for (int i = 1; i < 4; i++) words[i] = htonl(words[i]); }
  unsigned char *first = (unsigned char *)words;
  first[0] = 2 << 4;
  first[1] = 0;
  memcpy(first + 2, &length, 2);
  fwrite(words, 16, 1, stdout);
  for (int i = 0; i < VALUES; i++) {
    float f = s->data[i];
    uint32_t word;
    memcpy(&word, &f, 4);
    if (!web) word = htonl(word);
    fwrite(&word, 4, 1, stdout);
  }
}

static void raw(const struct sample *s) {
  uint64_t numbers[3 + VALUES] = {s->sequence, s->sec, s->nsec};
  memcpy(numbers + 3, s->data, sizeof s->data);
  for (int i = 0; i < 3 + VALUES; i++) numbers[i] = __builtin_bswap64(numbers[i]);
  fwrite(numbers, sizeof numbers, 1, stdout);
}

int main(int argc, char *argv[]) {
  const char *format = argc > 1 ? argv[1] : "human";
  if (!strcmp(format, "human")) { printf("# seconds.nanoseconds+offset(sequence)"); for (int i = 0; i < VALUES; i++) printf("\tsignal%u", i); puts(""); }
  char separator = !strcmp(format, "tsv") ? '\t' : ',';
  if (!strcmp(format, "csv") || !strcmp(format, "tsv")) {
    printf("# secs%cnsecs%coffset%csequence%c", separator, separator, separator, separator);
    for (int i = 0; i < VALUES; i++) printf("signal%u%s", i, i + 1 < VALUES ? (char[]){separator, 0} : "");
    puts("");
  }
  for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++) {
    const struct sample *s = &samples[i];
    if (!strcmp(format, "human")) human(s);
    else if (!strcmp(format, "csv") || !strcmp(format, "tsv")) column(s, separator);
    else if (!strcmp(format, "jsonl")) json(s);
    else if (!strcmp(format, "binary")) message(s, 0);
    else if (!strcmp(format, "web")) message(s, 1);
    else raw(s);
  }
}
