// Elementwise maps: runs of elements along the last dimension, read, computed and written tile by tile.

struct MapFamily {
  static constexpr bool kTilesOfBlock = false;
  static constexpr int64_t kTask = 32768;

  Machine value;
  Uniforms uniforms;
  T* buffers;
  int64_t* offsets;  // of the results, the inputs, the indices

  SELDOM void reserve(const View& view, Arena& arena) {
    const int32_t* s = view.settings;
    uniforms.reserve(view, arena);
    value.reserve(view, 1, s[2] + s[3], arena);
    buffers = arena.tiles(s[2] + s[3]);
    offsets = arena.take<int64_t>(s[1] + s[2] + s[3]);
  }

  SELDOM static Cut cut(const View& view, const void* args, int64_t) {
    int64_t tasks = 0;
    for (int32_t segment = 0; segment < segmentsOf(view); segment++) tasks += tasksOf(view, wordsOf(view, args, segment));
    return Cut{tasks, 1, 0, 0};
  }

  static int32_t segmentsOf(const View& view) { return view.settings[5 + view.settings[1] + view.settings[2]]; }

  // The packed parameters of a segment; the numbers of all lie behind those of the last.
  static const int64_t* wordsOf(const View& view, const void* args, int32_t segment) {
    const int32_t* s = view.settings;
    return (const int64_t*)args + segment * (s[1] + s[2] + s[0] * (1 + s[1] + s[2] + s[3]) + s[3]);
  }

  static int64_t elementsOf(const View& view, const int64_t* words) {
    const int32_t* s = view.settings;
    int64_t total = 1;
    for (int32_t i = 0; i < s[0]; i++) total *= words[s[1] + s[2] + i];
    return total;
  }

  static int64_t tasksOf(const View& view, const int64_t* words) { return blocks_of(elementsOf(view, words), kTask); }

  void run(const View& view, const void* args, int64_t, int64_t begin, int64_t end) {
    const int32_t segments = segmentsOf(view);
    uniforms.set(view, (const double*)wordsOf(view, args, segments));
    value.prepare(view, &uniforms, [](int32_t) { return false; });
    int64_t first = 0;
    for (int32_t segment = 0; segment < segments && first < end; segment++) {
      const int64_t* words = wordsOf(view, args, segment);
      const int64_t tasks = tasksOf(view, words), from = begin > first ? begin - first : 0;
      if (from < tasks) runSegment(view, words, from, at_most(end - first, tasks));
      first += tasks;
    }
  }

  void runSegment(const View& view, const int64_t* words, int64_t begin, int64_t end) {
    const int32_t* s = view.settings;
    const int32_t rank = s[0], results = s[1], inputs = s[2], indices = s[3];
    const int32_t operands = results + inputs + indices;
    const int64_t* n = words + inputs + results;
    // strides of the results, the inputs, the indices, each over all dimensions
    const int64_t* strides = n + rank;
    const int64_t* starts = strides + rank * operands;
    const int64_t inner = n[rank - 1], total = elementsOf(view, words);
    const int64_t stop = at_most(end * kTask, total);
    for (int64_t at = begin * kTask; at < stop;) {
      const int64_t row = at / inner, x0 = at - row * inner;
      const int64_t run = at_most(inner - x0, stop - at);
      for (int32_t q = 0; q < operands; q++) {
        int64_t rest = row, offset = x0 * strides[q * rank + rank - 1];
        for (int32_t i = rank - 2; i >= 0; i--) {
          offset += rest % n[i] * strides[q * rank + i];
          rest /= n[i];
        }
        offsets[q] = offset;
      }
      for (int64_t x = 0; x < run; x += TILE) {
        const int64_t count = at_most(run - x, TILE), whole = whole_steps(count);
        for (int32_t q = 0; q < inputs; q++) {
          const int64_t stride = strides[(results + q) * rank + rank - 1];
          const int32_t type = s[5 + results + q];
          const uint8_t* from =
              (const uint8_t*)words[q] + (offsets[results + q] + x * stride) * kernels::kElementBytes[type];
          T* buffer = buffers + q * TILE;
          // one of several results may be this memory, and another one the input as it is
          if (results == 1 && type == (view.float64 ? 0 : 1) && stride == 1 && count == whole) {
            value.input(q, (const T*)from);
            continue;
          }
          rowFn(type, view.float64 ? 0 : 1)(buffer, 1, from, stride, count);
          for (int64_t i = count; i < whole; i++) buffer[i] = buffer[count - 1];
          value.input(q, buffer);
        }
        for (int32_t q = 0; q < indices; q++) {
          const int64_t stride = strides[(results + inputs + q) * rank + rank - 1];
          const int64_t first = starts[q] + offsets[results + inputs + q] + x * stride;
          T* buffer = buffers + (inputs + q) * TILE;
          for (int64_t i = 0; i < whole; i++) buffer[i] = (T)(first + i * stride);
          value.input(inputs + q, buffer);
        }
        value.run(whole);
        for (int32_t r = 0; r < results; r++) {
          const int64_t stride = strides[r * rank + rank - 1];
          const int32_t type = s[5 + r];
          uint8_t* out =
              (uint8_t*)words[inputs + r] + (offsets[r] + x * stride) * kernels::kElementBytes[type];
          rowFn(view.float64 ? 0 : 1, type)(out, stride, value.root(r), 1, count);
        }
      }
      at += run;
    }
  }
};
