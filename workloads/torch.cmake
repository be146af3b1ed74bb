# Finds libtorch in PyTorch's wheel (scripts/setup --torch). Sets KR_TORCH, the package's folder,
# KR_TORCH_VERSION and target kr_torch; or KR_TORCH_MISSING, why there is none. The wheel's own CMake
# package is not used: it wants a whole CUDA toolkit with nvcc, we only call libraries.
# Presets tsan and fuzz leave it out: torch's own threads are invisible to TSan, which then reports
# races that are none, and none of our readers of hostile input is here.
set(KREACH_WITH_TORCH AUTO CACHE STRING "Build the workloads: AUTO (when torch is found), ON, OFF")
set_property(CACHE KREACH_WITH_TORCH PROPERTY STRINGS AUTO ON OFF)
set(KREACH_TORCH_DIR "" CACHE PATH "The folder 'torch' of an installed wheel")

set(KR_TORCH "")
set(KR_TORCH_MISSING "")

function(kr_torch_look out)
  file(GLOB venv ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  if(KREACH_TORCH_DIR)
    set(${out} ${KREACH_TORCH_DIR} PARENT_SCOPE)
    return()
  elseif(venv)
    list(GET venv 0 first)
    set(${out} ${first} PARENT_SCOPE)
    return()
  endif()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    execute_process(OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
      COMMAND ${Python3_EXECUTABLE} -c "import importlib.util as u, os
s = u.find_spec('torch')
print(os.path.dirname(s.origin) if s and s.origin else '')")
    set(${out} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

if(KREACH_WITH_TORCH STREQUAL "OFF")
  set(KR_TORCH_MISSING "KREACH_WITH_TORCH is OFF")
else()
  kr_torch_look(KR_TORCH)
  # cuda_runtime_api.h may be there without what it includes: in wheels that is a package of its own.
  find_path(KREACH_CUDART_INCLUDE crt/host_defines.h
    PATHS ${KR_TORCH}/../nvidia/cu13/include /usr/local/cuda/include NO_DEFAULT_PATH)
  find_path(KREACH_NVTX_INCLUDE nvtx3/nvToolsExt.h
    PATHS ${KR_TORCH}/../nvidia/cu13/include /usr/local/cuda/include NO_DEFAULT_PATH)
  find_library(KREACH_CUDART libcudart.so.13
    PATHS ${KR_TORCH}/../nvidia/cu13/lib /usr/local/cuda/lib64 NO_DEFAULT_PATH)
  if(NOT KR_TORCH)
    set(KR_TORCH_MISSING "not installed; scripts/setup --torch does that")
  elseif(NOT EXISTS ${KR_TORCH}/include/ATen/ATen.h OR NOT EXISTS ${KR_TORCH}/version.py)
    set(KR_TORCH_MISSING "no PyTorch wheel in ${KR_TORCH}")
  elseif(NOT EXISTS ${KR_TORCH}/lib/libtorch_cuda.so)
    set(KR_TORCH_MISSING "the wheel in ${KR_TORCH} is one without CUDA")
  elseif(NOT KREACH_CUDART_INCLUDE OR NOT KREACH_NVTX_INCLUDE OR NOT KREACH_CUDART)
    set(KR_TORCH_MISSING "CUDA 13's runtime or its headers, or those of NVTX, are missing")
  else()
    file(STRINGS ${KR_TORCH}/version.py version REGEX "^__version__ =")
    string(REGEX REPLACE ".*'(.*)'.*" "\\1" KR_TORCH_VERSION "${version}")
    file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/requirements.txt pin REGEX "^torch==")
    string(REGEX MATCH "[0-9]+\\.[0-9]+" wanted "${pin}")
    string(REGEX MATCH "^[0-9]+\\.[0-9]+" number "${KR_TORCH_VERSION}")
    if(NOT number STREQUAL wanted)
      set(KR_TORCH_MISSING "${KR_TORCH} is version ${KR_TORCH_VERSION}, not ${wanted}")
    endif()
  endif()
endif()

include(CheckLanguage)
if(NOT KR_TORCH_MISSING)
  check_language(CXX)
  if(NOT CMAKE_CXX_COMPILER)
    set(KR_TORCH_MISSING "there is no C++ compiler")
  endif()
endif()

if(KR_TORCH_MISSING AND KREACH_WITH_TORCH STREQUAL "ON")
  message(FATAL_ERROR "KREACH_WITH_TORCH is ON but libtorch cannot be used: ${KR_TORCH_MISSING}")
endif()
if(KR_TORCH_MISSING)
  set(KR_TORCH "")
  return()
endif()

enable_language(CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)

# Linked by path; each library finds the others, and NVIDIA's wheels, by a path of its own.
add_library(kr_torch INTERFACE)
target_include_directories(kr_torch SYSTEM INTERFACE ${KR_TORCH}/include ${KREACH_CUDART_INCLUDE})
target_link_libraries(kr_torch INTERFACE ${KR_TORCH}/lib/libtorch_cuda.so
  ${KR_TORCH}/lib/libc10_cuda.so ${KR_TORCH}/lib/libtorch_cpu.so ${KR_TORCH}/lib/libc10.so
  ${KREACH_CUDART})
target_link_options(kr_torch INTERFACE -Wl,-rpath,${KR_TORCH}/lib
  -Wl,--allow-shlib-undefined)
