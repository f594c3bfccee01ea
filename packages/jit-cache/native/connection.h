// SQLite's connections and statements as owned values. Failures are SqliteError; nothing here knows of JS.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace mercer::sqlite {

// A result code of SQLite (extended) and its text.
class SqliteError : public std::exception {
 public:
  SqliteError(int code, const char* message) : code_(code), message_(message) {}
  int code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int code_;
  std::string message_;
};

// One open file. Used on one thread.
class Connection {
 public:
  Connection(const char* location, bool readOnly);
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool isOpen() const { return database_ != nullptr; }
  void execute(const char* sql);
  // Ends every statement first, so that the file is closed and its locks are gone when this returns.
  void close() noexcept;

 private:
  friend class Statement;
  [[noreturn]] void fail() const;
  sqlite3* database_ = nullptr;
};

// A prepared statement. Ended with its connection, if not before.
class Statement {
 public:
  Statement(std::shared_ptr<Connection> connection, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool isOpen() const { return connection_->isOpen(); }

  // One run: parameters are bound, rows are stepped over, and whatever happens the statement is ready for the next. Blobs
  // are read where they are: they must outlive the run.
  class Run {
   public:
    explicit Run(Statement& statement) : statement_(statement), raw(statement.statement_) {}
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    void bindNull(int parameter) { check(sqlite3_bind_null(raw, parameter)); }
    void bind(int parameter, double value) { check(sqlite3_bind_double(raw, parameter, value)); }
    void bind(int parameter, int64_t value) { check(sqlite3_bind_int64(raw, parameter, value)); }
    void bind(int parameter, const std::string& text);
    void bind(int parameter, const void* blob, size_t bytes);
    // Whether there is one more row.
    bool step();

   private:
    Statement& statement_;
    void check(int code) const;

   public:
    // For sqlite3_column_*.
    sqlite3_stmt* const raw;
  };

 private:
  std::shared_ptr<Connection> connection_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace mercer::sqlite
