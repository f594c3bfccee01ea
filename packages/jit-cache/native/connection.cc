#include "connection.h"

#include <utility>

namespace mercer::sqlite {

Connection::Connection(const char* location, bool readOnly) {
  const int access = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(location, &database_,
                                   access | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code == SQLITE_OK) {
    // What SQL could break by writing to SQLite's own tables is refused.
    sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    return;
  }
  const SqliteError error(code, database_ ? sqlite3_errmsg(database_) : sqlite3_errstr(code));
  close();
  throw error;
}

void Connection::fail() const {
  throw SqliteError(sqlite3_extended_errcode(database_), sqlite3_errmsg(database_));
}

void Connection::execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Connection::close() noexcept {
  if (database_ == nullptr) return;
  while (sqlite3_stmt* statement = sqlite3_next_stmt(database_, nullptr)) sqlite3_finalize(statement);
  sqlite3_close(std::exchange(database_, nullptr));
}

Statement::Statement(std::shared_ptr<Connection> connection, const std::string& sql)
    : connection_(std::move(connection)) {
  const int code = sqlite3_prepare_v3(connection_->database_, sql.c_str(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) connection_->fail();
  if (statement_ == nullptr) throw SqliteError(SQLITE_MISUSE, "there is no statement in the text");
}

Statement::~Statement() {
  if (connection_->isOpen()) sqlite3_finalize(statement_);
}

Statement::Run::~Run() {
  // Reset gives the error of the last step once more.
  sqlite3_reset(raw);
  sqlite3_clear_bindings(raw);
}

void Statement::Run::check(int code) const {
  if (code != SQLITE_OK) statement_.connection_->fail();
}

void Statement::Run::bind(int parameter, const std::string& text) {
  check(sqlite3_bind_text64(raw, parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::Run::bind(int parameter, const void* blob, size_t bytes) {
  // A null pointer would bind NULL, and so does an empty array's.
  check(bytes == 0 ? sqlite3_bind_zeroblob(raw, parameter, 0)
                   : sqlite3_bind_blob64(raw, parameter, blob, bytes, SQLITE_STATIC));
}

bool Statement::Run::step() {
  const int code = sqlite3_step(raw);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) statement_.connection_->fail();
  return false;
}

}  // namespace mercer::sqlite
