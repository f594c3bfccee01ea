// Products with the orthogonal factor that `qr` leaves as reflectors.
#pragma once

#include "operand.h"

namespace mercer {

/// Bytes that `applyQ` needs on the device.
size_t applyQWorkspace(Stream& stream, int type, int side, int transpose, const Matrix& a, const Region& tau,
                       const Matrix& c);

/// c becomes q c, q' c, c q or c q' (side 0 left, 1 right); `a` has as many rows as q and as
/// many columns as reflectors.
void applyQ(Stream& stream, int type, int side, int transpose, const Matrix& a, const Region& tau,
            const Matrix& c, const Scratch& scratch, const Region& info);

}  // namespace mercer
