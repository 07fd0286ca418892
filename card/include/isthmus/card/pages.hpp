// Reuses memory, because the first access to 2 GiB takes longer than a copy of 2 GiB.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace isthmus::card {

/// Keeps memory that is not in use. A request for another size frees what it keeps.
class PagePool {
 public:
  PagePool() = default;
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Returns page-aligned memory with any contents. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* data, std::size_t bytes);

 private:
  void clear();

  std::size_t bytes_ = 0;  ///< size of each piece
  std::vector<std::byte*> spare_;
};

/// Memory from a pool, which the destructor gives back.
class Pages {
 public:
  Pages(std::shared_ptr<PagePool> pool, std::size_t bytes)
      : pool_(std::move(pool)), data_(pool_->take(bytes)), bytes_(bytes) {}
  ~Pages() {
    if (pool_) {
      pool_->give_back(data_, bytes_);
    }
  }
  Pages(Pages&& other) noexcept = default;  // `other` has no pool afterwards
  Pages& operator=(Pages&&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<PagePool> pool_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace isthmus::card
