// Strips: consecutive instructions of which each reads the value of the one before, which nobody else reads. That value stays in
// registers, for one row or for several that run the same code: they share tiles and have values of their own.
constexpr int ROWS_AT_ONCE = sizeof(V) == 64 ? 4 : 2;

// What the operands of an instruction in a strip are, a digit each: the value before, a number of the row, a tile that all rows
// share, a tile of the row.
enum Role : int32_t { kNone, kBefore, kNumber, kShared, kOwn, kRoles };
constexpr int32_t rolesOf(int32_t a, int32_t b = kNone, int32_t c = kNone) { return a + kRoles * (b + kRoles * c); }
constexpr int32_t ROLES_B = rolesOf(kBefore), ROLES_BB = rolesOf(kBefore, kBefore), ROLES_BN = rolesOf(kBefore, kNumber);
constexpr int32_t ROLES_NB = rolesOf(kNumber, kBefore), ROLES_BO = rolesOf(kBefore, kOwn), ROLES_OB = rolesOf(kOwn, kBefore);
constexpr int32_t ROLES_SN = rolesOf(kShared, kNumber), ROLES_NS = rolesOf(kNumber, kShared);
constexpr int32_t ROLES_BNN = rolesOf(kBefore, kNumber, kNumber), ROLES_BSN = rolesOf(kBefore, kShared, kNumber);
constexpr int32_t ROLES_BNS = rolesOf(kBefore, kNumber, kShared), ROLES_SNB = rolesOf(kShared, kNumber, kBefore);
constexpr int32_t ROLES_OOB = rolesOf(kOwn, kOwn, kBefore), ROLES_ONB = rolesOf(kOwn, kNumber, kBefore);

// What a strip can do outside WebAssembly, where these write tiles: pages load all of the interpreter, and they are a tenth of it.
#ifdef __wasm__
#define MERCER_LONG_LINKS(LINK)
#else
#define MERCER_LONG_LINKS(LINK)                                                                         \
  LINK(log, B) LINK(tanh, B) LINK(powNonNegative, BNN) LINK(sign, B) LINK(rsqrt, B)                     \
  LINK(addPower3, SNB) LINK(addPower4, SNB) LINK(maxAbsoluteDifference, SNB)                            \
  LINK(addAbsoluteDifference, OOB) LINK(addSquaredDifference, OOB) LINK(multiplyAdd, ONB)               \
  LINK(scaledAbsoluteDifference, BSN) LINK(mulAbsolute, BB) LINK(sub, BO) LINK(sub, OB)                 \
  LINK(div, BO) LINK(div, OB) LINK(min, NB) LINK(max, NB)                                               \
  LINK(lt, BN) LINK(le, BN) LINK(gt, BN) LINK(ge, BN) LINK(select, BNN)
#endif

// What a strip can do. Where operands may change places one order is here. A strip whose first instruction has no value before it
// and is not one of the first line begins with a tile.
#define MERCER_LINKS(LINK)                                                                              \
  LINK(mul, SN) LINK(absoluteDifference, SN) LINK(squaredDifference, SN) LINK(sub, SN) LINK(sub, NS)    \
  LINK(multiplyAdd, SNB) LINK(addAbsoluteDifference, SNB) LINK(addSquaredDifference, SNB)               \
  LINK(multiplyAdd, OOB) LINK(scaledDifference, BSN) LINK(scaledDifference, BNS)                        \
  LINK(neg, B) LINK(abs, B) LINK(sqrt, B) LINK(exp, B) LINK(expOfNegative, B)                           \
  LINK(add, BB) LINK(add, BN) LINK(add, BO) LINK(mul, BB) LINK(mul, BN) LINK(mul, BO)                   \
  LINK(sub, BN) LINK(sub, NB) LINK(div, BN) LINK(div, NB) LINK(min, BN) LINK(max, BN)                   \
  MERCER_LONG_LINKS(LINK)

enum LinkKind : int32_t {
  kNoLink,
#define MERCER_LINK(name, roles) kLink_##name##_##roles,
  MERCER_LINKS(MERCER_LINK)
#undef MERCER_LINK
};

// An instruction of a strip: what it does, with the slots of a number, of a tile, and of another of the two.
struct Link {
  int32_t kind, number, tile, other;
};

struct LinkKinds {
  uint8_t of[(int32_t)Operation::kCount][kRoles * kRoles * kRoles];

  constexpr LinkKinds() : of() {
#define MERCER_LINK(name, roles) of[(int32_t)Operation::k_##name][ROLES_##roles] = (uint8_t)kLink_##name##_##roles;
    MERCER_LINKS(MERCER_LINK)
#undef MERCER_LINK
  }
};
static constexpr LinkKinds LINK_KINDS;

// What an instruction does in a strip whose operands have these roles, the first two in either order where that does not matter; a tile
// that rows share may be read like one of each.
static LinkKind kind_of(Operation operation, int32_t a, int32_t b, int32_t c) {
  const auto own = [](int32_t role) { return role == kShared ? (int32_t)kOwn : role; };
  const auto find = [&](int32_t x, int32_t y) {
    const uint8_t* const kinds = LINK_KINDS.of[(int32_t)operation];
    const uint8_t kind = kinds[rolesOf(x, y, c)];
    return (LinkKind)(kind != kNoLink ? kind : kinds[rolesOf(own(x), own(y), own(c))]);
  };
  const LinkKind kind = find(a, b);
  return kind == kNoLink && commutes(operation) ? find(b, a) : kind;
}

// Where the slots of a code are for ROWS rows in a row: every row has registers of its own, and the slots that move are as one.
template <int ROWS>
struct RowSlots {
  T* const* at[ROWS];
  const int64_t* moves;
  int64_t row;
};

// One instruction of a strip on the values of the rows.
template <class Operation, int32_t ROLES, int ROWS>
static INLINE_METHOD void apply_link(V (&r)[ROWS][UNROLL], const Link& one, const RowSlots<ROWS>& slots, int64_t i) {
  constexpr int32_t A = ROLES % kRoles, B = ROLES / kRoles % kRoles, C = ROLES / (kRoles * kRoles);
  constexpr int tiles = (A == kOwn) + (B == kOwn), numbers = (A == kNumber) + (B == kNumber) + (C == kNumber);
  const auto number_at = [&](int32_t slot) INLINE_LAMBDA { return slots.at[0][slot] + slots.row * slots.moves[slot]; };
  V shared[UNROLL];
  if constexpr (A == kShared || B == kShared || C == kShared) {
    const T* const from = slots.at[0][one.tile] + i;
#pragma GCC unroll 4
    for (int n = 0; n < UNROLL; n++) shared[n] = get(from + n * LANES);
  }
  const T *number = nullptr, *second = nullptr;
  if constexpr (numbers > 0) number = number_at(one.number);
  if constexpr (numbers > 1) second = number_at(one.other);
#pragma GCC unroll 4
  for (int m = 0; m < ROWS; m++) {
    V p = splat(0), q = splat(0);
    const T *tile = nullptr, *next = nullptr;
    if constexpr (tiles > 0) tile = slots.at[m][one.tile] + i;
    if constexpr (tiles > 1) next = slots.at[m][one.other] + i;
    if constexpr (numbers > 0) p = splat(*number), number += slots.moves[one.number];
    if constexpr (numbers > 1) q = splat(*second), second += slots.moves[one.other];
#pragma GCC unroll 4
    for (int n = 0; n < UNROLL; n++) {
      V x = r[m][n], y = r[m][n], z = r[m][n];
      if constexpr (A == kNumber) x = p;
      if constexpr (A == kShared) x = shared[n];
      if constexpr (A == kOwn) x = get(tile + n * LANES);
      if constexpr (B == kNumber) y = p;
      if constexpr (B == kShared) y = shared[n];
      if constexpr (B == kOwn) y = get((A == kOwn ? next : tile) + n * LANES);
      if constexpr (C == kNumber) z = numbers > 1 ? q : p;
      if constexpr (C == kShared) z = shared[n];
      r[m][n] = Operation::apply(x, y, z);
    }
  }
}

// `links` up to `end`, on what is in slot `begin` or, where that is -1, on operands alone. The last value goes to slot `to`; the sum of
// several rows is added to `sum` instead, where that is not null.
struct Strip {
  const Link *links, *end;
  int32_t begin, to;
  T* sum;
};

template <int ROWS>
static void run_strip(const Strip& strip, const RowSlots<ROWS>& slots, int64_t count) {
  const int32_t begin = strip.begin;
  for (int64_t i = 0; i < count; i += STEP) {
    V r[ROWS][UNROLL] = {};
    if (begin >= 0) {
#pragma GCC unroll 4
      for (int m = 0; m < ROWS; m++) {
        const T* const from = slots.at[m][begin] + i;
#pragma GCC unroll 4
        for (int n = 0; n < UNROLL; n++) r[m][n] = get(from + n * LANES);
      }
    }
    for (const Link* one = strip.links; one != strip.end;) {
      switch (one->kind) {
// Sums go on without a jump.
#define MERCER_LINK(name, roles)                                                                                          \
  case kLink_##name##_##roles:                                                                                            \
    do apply_link<Op_##name, ROLES_##roles, ROWS>(r, *one, slots, i);                                                     \
    while (++one != strip.end && ROLES_##roles / (kRoles * kRoles) == kBefore && one->kind == kLink_##name##_##roles);    \
    break;
        MERCER_LINKS(MERCER_LINK)
#undef MERCER_LINK
        default:
          __builtin_unreachable();
      }
    }
    if constexpr (ROWS > 1) {
      if (strip.sum != nullptr) {
#pragma GCC unroll 4
        for (int n = 0; n < UNROLL; n++) {
          V added = r[0][n] + r[1][n];
          if constexpr (ROWS == 4) added += r[2][n] + r[3][n];
          put(strip.sum + i + n * LANES, get(strip.sum + i + n * LANES) + added);
        }
        continue;
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < ROWS; m++) {
      T* const to = slots.at[m][strip.to] + i;
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) put(to + n * LANES, r[m][n]);
    }
  }
}
