// A certificate for `localhost` that signs itself, made anew for each test that needs one.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace rpcroute::tests {

class Certificate {
 public:
  Certificate() : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free), certificate_(X509_new(), &X509_free) {
    X509* x509 = certificate_.get();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key_.get());
    X509_NAME* name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(x509, name);
    add_extension(NID_subject_alt_name, "DNS:localhost");
    add_extension(NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(x509, key_.get(), EVP_sha256());
    path_ = std::filesystem::temp_directory_path() / ("rpcroute-test-" + std::to_string(getpid()) + ".pem");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "w"), &std::fclose);
    PEM_write_X509(file.get(), x509);
  }

  ~Certificate() { std::filesystem::remove(path_); }

  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  /// The certificate as a file of authorities.
  std::string path() const { return path_; }

  boost::asio::ssl::context server_context() const {
    boost::asio::ssl::context context(boost::asio::ssl::context::tls_server);
    SSL_CTX_use_certificate(context.native_handle(), certificate_.get());
    SSL_CTX_use_PrivateKey(context.native_handle(), key_.get());
    return context;
  }

 private:
  void add_extension(int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  std::unique_ptr<X509, decltype(&X509_free)> certificate_;
  std::filesystem::path path_;
};

}  // namespace rpcroute::tests
